import type { Storage } from '../../context.ts';
import { jsonTexts, onSame } from '../../db/query.ts';
import type { ImportEntry, NamedPerson } from './read-entries.ts';

/** Finds the trainer of an entry, or says why there is none. */
export type FindTrainer = (entry: ImportEntry) => { trainerId: string } | { fault: string };

/** Loads what is needed to find the trainers of these entries. */
export async function loadKnownPeople(
  ctx: Storage,
  install: string,
  entries: readonly ImportEntry[],
): Promise<FindTrainer> {
  const people = entries.flatMap(({ person }) => person ?? []);
  const addresses = people.flatMap((one) => ('workEmail' in one ? one.workEmail.toLowerCase() : []));
  const digests = new Map([...new Set(addresses)].map((address) => [address, ctx.box.digest(address)]));
  const known = await loadTrainersAt(ctx, install, [...digests.values()]);
  const trainersOf = (person: NamedPerson) => {
    if ('trainerId' in person) return [person.trainerId];
    return (known.get(digests.get(person.workEmail.toLowerCase()) ?? '') ?? []).map(({ trainerId }) => trainerId);
  };
  const trainerIds = [...new Set(people.flatMap(trainersOf))];
  const engaged = {
    contract: await loadContracts(ctx, install, idsOf(entries, 'contract')),
    project: await loadProjects(ctx, install, idsOf(entries, 'project'), trainerIds),
  };

  return ({ workedOn: { by, id }, person }) => {
    const onIt = engaged[by].get(id);
    if (onIt === undefined) return { fault: `there is no such ${by}` };
    if (person === null) return onlyOneOf(onIt);
    const all = trainersOf(person);
    if (all.length === 0) return { fault: 'no trainer is known by this workEmail' };
    const [trainerId, another] = all.filter((one) => onIt.has(one));
    if (trainerId === undefined) return { fault: `${describe(person)} is not on the ${by}` };
    if (another === undefined) return { trainerId };
    return { fault: `several trainers on the ${by} have this workEmail: name one by opentrainUserId` };
  };
}

function describe(person: NamedPerson): string {
  return 'trainerId' in person ? 'opentrainUserId' : 'the trainer with this workEmail';
}

function onlyOneOf([trainerId, another]: ReadonlySet<string>): ReturnType<FindTrainer> {
  if (trainerId === undefined) return { fault: 'no trainer is known to be on the contract' };
  if (another === undefined) return { trainerId };
  return { fault: 'several trainers are on the contract: name one by opentrainUserId' };
}

/** By the digest of the address. */
async function loadTrainersAt({ database }: Storage, install: string, digests: string[]) {
  const rows = await database.kysely
    .selectFrom('person')
    .select(['workEmailDigest', 'trainerId'])
    .where('install', '=', install)
    .where('workEmailDigest', 'in', jsonTexts(database, digests))
    .orderBy('trainerId')
    .execute();
  return Map.groupBy(rows, ({ workEmailDigest }) => workEmailDigest);
}

/** The trainers who are or were on these contracts, by contract. */
async function loadContracts({ database }: Storage, install: string, contractIds: string[]) {
  const rows = await database.kysely
    .selectFrom('contract')
    .leftJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .select(['contract.contractId as id', 'participation.trainerId'])
    .where('contract.install', '=', install)
    .where('contract.contractId', 'in', jsonTexts(database, contractIds))
    .execute();
  return toEngaged(rows);
}

/** By project: those of these trainers who ever had it on a contract. Work may be imported after a link has ended. */
async function loadProjects({ database }: Storage, install: string, projectIds: string[], trainerIds: string[]) {
  const rows = await database.kysely
    .selectFrom('link')
    .leftJoin('contractLink', onSame('contractLink', 'link', ['install', 'linkId']))
    .leftJoin('participation', (join) =>
      join
        .onRef('participation.install', '=', 'contractLink.install')
        .onRef('participation.contractId', '=', 'contractLink.contractId')
        .on('participation.trainerId', 'in', jsonTexts(database, trainerIds)),
    )
    .select(['link.externalProjectId as id', 'participation.trainerId'])
    .where('link.install', '=', install)
    .where('link.externalProjectId', 'in', jsonTexts(database, projectIds))
    .execute();
  return toEngaged(rows);
}

function toEngaged(rows: readonly { id: string | null; trainerId: string | null }[]): Map<string | null, Set<string>> {
  const byId = Map.groupBy(rows, ({ id }) => id);
  return new Map([...byId].map(([id, some]) => [id, new Set(some.flatMap(({ trainerId }) => trainerId ?? []))]));
}

function idsOf(entries: readonly ImportEntry[], by: ImportEntry['workedOn']['by']): string[] {
  return [...new Set(entries.flatMap(({ workedOn }) => (workedOn.by === by ? [workedOn.id] : [])))];
}
