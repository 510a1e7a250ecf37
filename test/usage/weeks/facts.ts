/** What really happened in a week, for the oracle. */

export interface Counts {
  seconds: number | null;
  tasks: number | null;
  labels: number | null;
}

export const names = ['seconds', 'tasks', 'labels'] as const;

export const nothing: Counts = { seconds: null, tasks: null, labels: null };

export function mapCounts(to: (name: (typeof names)[number]) => number | null): Counts {
  return { seconds: to('seconds'), tasks: to('tasks'), labels: to('labels') };
}

export function plus(a: Counts, b: Counts): Counts {
  return mapCounts((name) => (a[name] === null && b[name] === null ? null : (a[name] ?? 0) + (b[name] ?? 0)));
}

export function highest(a: Counts, b: Counts): Counts {
  return mapCounts((name) => (a[name] === null && b[name] === null ? null : Math.max(a[name] ?? 0, b[name] ?? 0)));
}

export function zeroed(counts: Counts): Counts {
  return mapCounts((name) => (counts[name] === null ? null : 0));
}

export function isNothing(counts: Counts): boolean {
  return names.every((name) => !counts[name]);
}

/** Whether the marketplace has less or more than is due. Counts that no source has do not matter. */
export function differs(due: Counts, has: Counts): boolean {
  return names.some((name) => due[name] !== null && due[name] !== (has[name] ?? 0));
}

export const install = 'acme';
export const projects = ['pieces', 'days', 'totals'] as const;
export type Project = (typeof projects)[number];
export const toolOf: Record<Project, string> = { pieces: 'studio', days: 'tally', totals: 'meter' };
export const trainers = ['amara', 'bo'] as const;
export const memberOf = (trainer: string) => `m-${trainer}`;
export const trainerOf = (member: string) => member.slice(2);

/** When a contract began or ended: an instant, or only a day. */
export type Edge = { at: string } | { day: string };

export interface ContractFact {
  id: string;
  trainer: string;
  project: Project;
  timeZone: string;
  start: Edge;
  end: Edge | null;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The day of an instant in a time zone. */
export function dayOf(at: string | number, timeZone: string): string {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  formats.set(timeZone, format);
  return format.format(typeof at === 'number' ? at : Date.parse(at));
}

export const dayMs = 86_400_000;

export function shiftDay(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);
}

export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** A start that is a date is the beginning of that day in UTC: the day before, in zones behind UTC. */
export function firstDayOf({ start, timeZone }: ContractFact): string {
  return dayOf('at' in start ? start.at : `${start.day}T00:00:00.000Z`, timeZone);
}

export function lastDayOf({ end, timeZone }: ContractFact): string {
  if (end === null) return '9999';
  return 'at' in end ? dayOf(end.at, timeZone) : end.day;
}

export function runsOn(contract: ContractFact, day: string): boolean {
  return firstDayOf(contract) <= day && day <= lastDayOf(contract);
}

/** @param at an instant on a day on which it runs */
export function runsAt({ start, end }: ContractFact, at: string): boolean {
  if ('at' in start && at < start.at) return false;
  return end === null || !('at' in end) || at <= end.at;
}

export function keyOf(contract: string, trainer: string, day: string): string {
  return `${contract} ${trainer} ${day}`;
}
