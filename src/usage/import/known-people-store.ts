import { jsonTexts } from '../../db/json-list.ts';
import { onSame } from '../../db/on-same.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Storage } from '../../keys/storage.ts';
import { remembered } from '../../lib/remembered.ts';
import type { ImportEntry, NamedPerson } from './entry.ts';

/** Finds the trainer whose work an entry is, or says why there is none. */
export type FindTrainer = (entry: ImportEntry) => { trainerId: string } | { fault: string };

/** Loads the evidence that these entries need. */
export async function loadKnownPeople(
  ctx: Storage,
  install: string,
  entries: readonly ImportEntry[],
): Promise<FindTrainer> {
  const people = entries.flatMap(({ person }) => person ?? []);
  const digests = people.flatMap((one) => ('workEmail' in one ? [digestOf(ctx.box, one.workEmail)] : []));
  const trainersAt = await loadTrainersAt(ctx, install, digests);
  const trainersOf = (person: NamedPerson) =>
    'trainerId' in person ? [person.trainerId] : (trainersAt.get(digestOf(ctx.box, person.workEmail)) ?? []);
  const engaged = await loadEngaged(ctx, install, people.flatMap(trainersOf));
  const contracts = await loadContracts(ctx, install, idsOf(entries, 'contract'));
  const projects = await loadProjects(ctx, install, idsOf(entries, 'project'));

  return ({ workedOn: { by, id }, person }) => {
    const isKnown = by === 'contract' ? contracts.has(id) : projects.has(id);
    if (!isKnown) return { fault: `there is no such ${by}` };
    if (person === null) return onlyOneOf(contracts.get(id));
    const all = trainersOf(person);
    if (all.length === 0) return { fault: 'no trainer is known by this workEmail' };
    const [trainerId, another] = all.filter((one) => engaged.has(keyOf(by, id, one)));
    if (trainerId === undefined) return { fault: `${describe(person)} is not on the ${by}` };
    if (another === undefined) return { trainerId };
    return { fault: `several trainers on the ${by} have this workEmail: name one by opentrainUserId` };
  };
}

function describe(person: NamedPerson): string {
  return 'trainerId' in person ? 'opentrainUserId' : 'the trainer with this workEmail';
}

function onlyOneOf(contract: { people: number; first: string | null } | undefined): ReturnType<FindTrainer> {
  const { people, first } = contract ?? { people: 0, first: null };
  if (first === null) return { fault: 'no trainer is known to be on the contract' };
  if (people === 1) return { trainerId: first };
  return { fault: 'several trainers are on the contract: name one by opentrainUserId' };
}

const mostRemembered = 10_000;

/** A file names the same people on every day, and each digest costs much garbage collection. */
function digestOf(box: SecretBox, workEmail: string): string {
  const address = workEmail.toLowerCase();
  const known = remembered(box, 'digests', () => new Map<string, string>());
  const digest = known.get(address) ?? box.digest(address);
  if (known.size >= mostRemembered) known.clear();
  known.set(address, digest);
  return digest;
}

async function loadTrainersAt({ database }: Storage, install: string, digests: string[]) {
  const rows = await database.kysely
    .selectFrom('person')
    .select(['workEmailDigest', 'trainerId'])
    .where('install', '=', install)
    .where('workEmailDigest', 'in', jsonTexts(database, digests))
    .orderBy('trainerId')
    .execute();
  const byDigest = Map.groupBy(rows, ({ workEmailDigest }) => workEmailDigest);
  return new Map([...byDigest].map(([digest, all]) => [digest, all.map(({ trainerId }) => trainerId)]));
}

/**
 * The contracts of these trainers, and the projects that a contract of theirs was ever linked to: work may be imported
 * after the link's end.
 */
async function loadEngaged({ database }: Storage, install: string, trainerIds: string[]): Promise<Set<string>> {
  const rows = await database.kysely
    .selectFrom('participation')
    .leftJoin('contractLink', onSame('contractLink', 'participation', ['install', 'contractId']))
    .leftJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .select(['participation.contractId', 'participation.trainerId', 'link.externalProjectId'])
    .where('participation.install', '=', install)
    .where('participation.trainerId', 'in', jsonTexts(database, distinct(trainerIds)))
    .execute();
  return new Set(
    rows.flatMap(({ contractId, externalProjectId, trainerId }) => [
      keyOf('contract', contractId, trainerId),
      keyOf('project', externalProjectId, trainerId),
    ]),
  );
}

/** How many trainers are or were on each contract, and one of them. */
async function loadContracts({ database }: Storage, install: string, contractIds: string[]) {
  const rows = await database.kysely
    .selectFrom('contract')
    .leftJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .select((eb) => [
      'contract.contractId as contractId',
      eb.fn.count<number>('participation.trainerId').as('people'),
      eb.fn.min('participation.trainerId').as('first'),
    ])
    .where('contract.install', '=', install)
    .where('contract.contractId', 'in', jsonTexts(database, contractIds))
    .groupBy('contract.contractId')
    .execute();
  return new Map(rows.map(({ contractId, ...known }) => [contractId, known]));
}

async function loadProjects({ database }: Storage, install: string, projectIds: string[]) {
  const rows = await database.kysely
    .selectFrom('link')
    .select('externalProjectId')
    .where('install', '=', install)
    .where('externalProjectId', 'in', jsonTexts(database, projectIds))
    .execute();
  return new Set(rows.map(({ externalProjectId }) => externalProjectId));
}

function idsOf(entries: readonly ImportEntry[], by: ImportEntry['workedOn']['by']): string[] {
  return distinct(entries.flatMap(({ workedOn }) => (workedOn.by === by ? [workedOn.id] : [])));
}

function distinct(ids: string[]): string[] {
  return [...new Set(ids)];
}

function keyOf(by: ImportEntry['workedOn']['by'], id: string | null, trainerId: string): string {
  return JSON.stringify([by, id, trainerId]);
}
