import type { Storage } from '../../keys/storage.ts';
import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';
import { type DueLoader, listPeople } from '../attribute/load-due.ts';
import { listParticipants } from '../read/contract-source-store.ts';
import { isWanted, type ReportWanted } from './report-wanted.ts';

/** Some trainers, and the contracts that are reported with them. */
export interface Part {
  people: readonly string[];
  /** All wanted days of each contract; no contract is in two parts. */
  due: DueDay[];
  /** Only these trainers. All parts together name each trainer once. */
  held: HeldWork[];
}

/**
 * Loads everything that is wanted in parts, so that memory does not grow with the number of contracts. A trainer with
 * several contracts may be loaded more than once.
 */
export async function* loadParts(ctx: Storage, due: DueLoader, wanted: ReportWanted): AsyncGenerator<Part> {
  /** Contracts with trainers in other parts. */
  const shared = new Set<string>();
  for await (const people of listWanted(ctx, due, wanted)) {
    const part = await loadPart(ctx, due, wanted, people);
    const days = part.due.filter((day) => !shared.has(contractKey(day)));
    for (const day of days) if (!people.includes(day.trainerId)) shared.add(contractKey(day));
    yield { ...part, due: days };
  }
}

/** What is due for these trainers, and for the others on the same contracts. */
export async function loadPart(
  ctx: Storage,
  due: DueLoader,
  wanted: ReportWanted,
  people: readonly string[],
): Promise<Part> {
  const own = await due.load(people);
  const days = own.due.filter((day) => isWanted(day, wanted));
  const others = await loadOthers(ctx, due, people, days);
  for (const day of others) if (isWanted(day, wanted)) days.push(day);
  return { people, due: days, held: own.held };
}

async function* listWanted(
  ctx: Storage,
  due: DueLoader,
  { contractId, installs }: ReportWanted,
): AsyncGenerator<readonly string[]> {
  if (contractId === undefined) yield* listPeople(due);
  else {
    const people = new Set<string>();
    for (const install of installs) {
      for (const one of await listParticipants(ctx, install, [contractId])) people.add(one.trainerId);
    }
    if (people.size > 0) yield [...people];
  }
}

/** What is due for the other trainers on the same contracts. */
async function loadOthers(
  ctx: Storage,
  due: DueLoader,
  people: readonly string[],
  days: readonly DueDay[],
): Promise<DueDay[]> {
  const contracts = new Set(days.map(contractKey));
  const others = new Set<string>();
  for (const [install, ofInstall] of Map.groupBy(days, (day) => day.install)) {
    const contractIds = [...new Set(ofInstall.map(({ contractId }) => contractId))];
    for (const { trainerId } of await listParticipants(ctx, install, contractIds))
      if (!people.includes(trainerId)) others.add(trainerId);
  }
  if (others.size === 0) return [];
  return (await due.load([...others])).due.filter((day) => contracts.has(contractKey(day)));
}

function contractKey({ install, contractId }: Pick<DueDay, 'install' | 'contractId'>) {
  return JSON.stringify([install, contractId]);
}
