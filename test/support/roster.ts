import { readFileSync } from 'node:fs';

interface Roster {
  groups: Record<string, { id: string; email: string }[]>;
}

/** The trainers' ids in the roster by group, sorted. A trainer who is there twice is listed twice. */
export function readRoster(file: string): Record<string, string[]> {
  const groups = Object.entries(parse(file).groups);
  return Object.fromEntries(groups.map(([group, members]) => [group, idsOf(members)]));
}

/** The same as one sorted list of `group/trainer`, without empty groups. */
export function listRoster(file: string): string[] {
  const groups = Object.entries(readRoster(file));
  return groups.flatMap(([group, ids]) => ids.map((id) => `${group}/${id}`)).sort();
}

function idsOf(members: { id: string }[]): string[] {
  return members.map(({ id }) => id).sort();
}

function parse(file: string): Roster {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Roster;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { groups: {} };
    throw error;
  }
}
