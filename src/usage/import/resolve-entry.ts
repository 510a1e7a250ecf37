import type { ImportEntry } from './entry.ts';
import type { KnownPeople } from './known-people-store.ts';

/** Whose work an entry is, by the evidence, or why that is not known. Pure. */
export function resolveEntry(
  { workedOn, person }: ImportEntry,
  known: KnownPeople,
): { trainerId: string } | { fault: string } {
  const { by, id } = workedOn;
  if (by === 'project' && !known.projects.has(id)) return { fault: 'there is no such project' };
  const contract = by === 'contract' ? known.contracts.get(id) : undefined;
  if (by === 'contract' && contract === undefined) return { fault: 'there is no such contract' };
  if (person === null) return onlyOneOf(contract);

  const isThere = (trainerId: string) =>
    by === 'contract' ? known.isOnContract(id, trainerId) : known.isOnProject(id, trainerId);
  if ('trainerId' in person) {
    const { trainerId } = person;
    return isThere(trainerId) ? { trainerId } : { fault: `opentrainUserId is not on the ${by}` };
  }
  const trainers = known.trainersAt(person.workEmail);
  if (trainers.length === 0) return { fault: 'no trainer is known by this workEmail' };
  const [trainerId, another] = trainers.filter(isThere);
  if (trainerId === undefined) return { fault: `the trainer with this workEmail is not on the ${by}` };
  if (another === undefined) return { trainerId };
  return { fault: `several trainers on the ${by} have this workEmail: name one by opentrainUserId` };
}

function onlyOneOf(
  contract: { people: number; only: string | null } | undefined,
): { trainerId: string } | { fault: string } {
  if (contract !== undefined && contract.only !== null) return { trainerId: contract.only };
  if ((contract?.people ?? 0) === 0) return { fault: 'no trainer is known to be on the contract' };
  return { fault: 'several trainers are on the contract: name one by opentrainUserId' };
}
