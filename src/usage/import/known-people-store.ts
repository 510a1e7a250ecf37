import type { Database } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import { onSame } from '../../db/on-same.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Storage } from '../../keys/storage.ts';
import type { ImportEntry } from './entry.ts';

/** The evidence that says which trainer a line means, as far as some entries need it. */
export interface KnownPeople {
  /** By contract: how many trainers are or were on it, and which one, where there is only one. */
  contracts: ReadonlyMap<string, { people: number; only: string | null }>;
  projects: ReadonlySet<string>;
  isOnContract(contractId: string, trainerId: string): boolean;
  isOnProject(externalProjectId: string, trainerId: string): boolean;
  /** All trainers with this work address in the install. */
  trainersAt(workEmail: string): readonly string[];
}

export async function loadKnownPeople(
  ctx: Storage,
  install: string,
  entries: readonly ImportEntry[],
): Promise<KnownPeople> {
  const contractIds = idsOf(entries, 'contract');
  const projectIds = idsOf(entries, 'project');
  const trainersAt = await loadAddresses(ctx, install, entries);
  const trainerIds = distinct([
    ...entries.flatMap(({ person }) => (person !== null && 'trainerId' in person ? [person.trainerId] : [])),
    ...[...trainersAt.values()].flat(),
  ]);
  const onContracts = await loadOnContracts(ctx.database, install, contractIds, trainerIds);
  const onProjects = await loadOnProjects(ctx.database, install, projectIds, trainerIds);
  return {
    contracts: await loadContracts(ctx.database, install, contractIds),
    projects: await loadProjects(ctx.database, install, projectIds),
    isOnContract: (contractId, trainerId) => onContracts.has(keyOf(contractId, trainerId)),
    isOnProject: (projectId, trainerId) => onProjects.has(keyOf(projectId, trainerId)),
    trainersAt: (workEmail) => trainersAt.get(toAddress(workEmail)) ?? [],
  };
}

const mostRemembered = 10_000;
const remembered = new WeakMap<SecretBox, Map<string, string>>();

/** A file names the same people on every day, and each digest costs much garbage collection. */
function digestOf(box: SecretBox, address: string): string {
  const known = remembered.get(box) ?? new Map<string, string>();
  remembered.set(box, known);
  const digest = known.get(address) ?? box.digest(address);
  if (known.size >= mostRemembered) known.clear();
  known.set(address, digest);
  return digest;
}

async function loadContracts(database: Database, install: string, contractIds: string[]) {
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
  return new Map(
    rows.map(({ contractId, people, first }) => [contractId, { people, only: people === 1 ? first : null }]),
  );
}

async function loadProjects(database: Database, install: string, projectIds: string[]) {
  const rows = await database.kysely
    .selectFrom('link')
    .select('externalProjectId')
    .distinct()
    .where('install', '=', install)
    .where('externalProjectId', 'in', jsonTexts(database, projectIds))
    .execute();
  return new Set(rows.map(({ externalProjectId }) => String(externalProjectId)));
}

async function loadOnContracts(
  database: Database,
  install: string,
  contractIds: string[],
  trainerIds: string[],
): Promise<Set<string>> {
  const rows = await database.kysely
    .selectFrom('participation')
    .select(['contractId', 'trainerId'])
    .where('install', '=', install)
    .where('contractId', 'in', jsonTexts(database, contractIds))
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .execute();
  return new Set(rows.map(({ contractId, trainerId }) => keyOf(contractId, trainerId)));
}

/** By any contract that was ever linked to the project: work may be imported after the link's end. */
async function loadOnProjects(
  database: Database,
  install: string,
  projectIds: string[],
  trainerIds: string[],
): Promise<Set<string>> {
  const rows = await database.kysely
    .selectFrom('link')
    .innerJoin('contractLink', onSame('contractLink', 'link', ['install', 'linkId']))
    .innerJoin('participation', onSame('participation', 'contractLink', ['install', 'contractId']))
    .select(['link.externalProjectId', 'participation.trainerId'])
    .distinct()
    .where('link.install', '=', install)
    .where('link.externalProjectId', 'in', jsonTexts(database, projectIds))
    .where('participation.trainerId', 'in', jsonTexts(database, trainerIds))
    .execute();
  return new Set(rows.map(({ externalProjectId, trainerId }) => keyOf(String(externalProjectId), trainerId)));
}

async function loadAddresses(
  { database, box }: Storage,
  install: string,
  entries: readonly ImportEntry[],
): Promise<Map<string, string[]>> {
  const addressOf = new Map<string, string>();
  for (const { person } of entries) {
    if (person === null || !('workEmail' in person)) continue;
    const address = toAddress(person.workEmail);
    addressOf.set(digestOf(box, address), address);
  }
  const rows = await database.kysely
    .selectFrom('person')
    .select(['workEmailDigest', 'trainerId'])
    .where('install', '=', install)
    .where('workEmailDigest', 'in', jsonTexts(database, [...addressOf.keys()]))
    .orderBy('trainerId')
    .execute();
  const found = new Map<string, string[]>();
  for (const { workEmailDigest, trainerId } of rows) {
    const address = addressOf.get(String(workEmailDigest)) ?? '';
    found.set(address, [...(found.get(address) ?? []), trainerId]);
  }
  return found;
}

function idsOf(entries: readonly ImportEntry[], by: ImportEntry['workedOn']['by']): string[] {
  return distinct(entries.flatMap(({ workedOn }) => (workedOn.by === by ? [workedOn.id] : [])));
}

function toAddress(workEmail: string): string {
  return workEmail.toLowerCase();
}

function distinct(ids: string[]): string[] {
  return [...new Set(ids)];
}

function keyOf(...parts: string[]): string {
  return JSON.stringify(parts);
}
