import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';
import { type DueLoader, listPeople } from '../attribute/load-due.ts';
import type { ContractSourceStore } from '../read/contract-source-store.ts';
import { isWanted, type ReportWanted } from './report-wanted.ts';

/** Some people, and the contracts that are reported with them. */
export interface Part {
  people: readonly string[];
  /** Of each contract all that is wanted, and no contract is in two parts. */
  due: DueDay[];
  /** Of these people alone: of everybody once, in all parts together. */
  held: HeldWork[];
}

export interface PartsDeps {
  sources: Pick<ContractSourceStore, 'participants'>;
  due: DueLoader;
}

/**
 * All that is wanted, in parts: what is in memory does not grow with the number of contracts. Who has
 * several contracts may be loaded more than once.
 */
export async function* loadParts(deps: PartsDeps, wanted: ReportWanted): AsyncGenerator<Part> {
  /** Contracts with people in other parts. */
  const shared = new Set<string>();
  for await (const people of listWanted(deps, wanted)) {
    const part = await loadPart(deps, wanted, people);
    const due = part.due.filter((day) => !shared.has(contractKey(day)));
    for (const day of due) if (!people.includes(day.trainerId)) shared.add(contractKey(day));
    yield { ...part, due };
  }
}

/** What some people have done, and everybody else on the same contracts. */
export async function loadPart(
  { sources, due }: PartsDeps,
  wanted: ReportWanted,
  people: readonly string[],
): Promise<Part> {
  const own = await due.load(people);
  const days = own.due.filter((day) => isWanted(day, wanted));
  const others = await loadOthers({ sources, due }, people, days);
  for (const day of others) if (isWanted(day, wanted)) days.push(day);
  return { people, due: days, held: own.held };
}

async function* listWanted(
  { sources, due }: PartsDeps,
  { contractId, installs }: ReportWanted,
): AsyncGenerator<readonly string[]> {
  if (contractId === undefined) yield* listPeople(due);
  else {
    const people = new Set<string>();
    for (const install of installs) {
      for (const one of await sources.participants(install, [contractId])) people.add(one.trainerId);
    }
    if (people.size > 0) yield [...people];
  }
}

/** What is due of others on the same contracts. */
async function loadOthers(
  { sources, due }: PartsDeps,
  people: readonly string[],
  days: readonly DueDay[],
): Promise<DueDay[]> {
  const contracts = new Set(days.map(contractKey));
  const others = new Set<string>();
  for (const [install, ofInstall] of Map.groupBy(days, (day) => day.install)) {
    const contractIds = [...new Set(ofInstall.map(({ contractId }) => contractId))];
    for (const { trainerId } of await sources.participants(install, contractIds))
      if (!people.includes(trainerId)) others.add(trainerId);
  }
  if (others.size === 0) return [];
  return (await due.load([...others])).due.filter((day) => contracts.has(contractKey(day)));
}

function contractKey({ install, contractId }: Pick<DueDay, 'install' | 'contractId'>) {
  return JSON.stringify([install, contractId]);
}
