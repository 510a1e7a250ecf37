import type { Database, Transaction } from '../../db/database.ts';
import { jsonTexts, onSame } from '../../db/query.ts';
import type { ContractEvidence, ContractKey, LinkEvidence } from '../../domain/evidence.ts';
import { heldStates } from '../../domain/membership.ts';
import type { Storage } from '../../keys/storage.ts';

// The SQL that usage reads contracts, links and participations with. It changes nothing.

/** A trainer on a contract whose work is done where a link leads. */
export interface Engagement extends ContractEvidence {
  trainerId: string;
  linkId: string;
  externalProjectId: string | null;
  externalProjectName: string | null;
}

/** Links of all installs, also those that were removed. */
export function listWorkLinks(ctx: Storage): Promise<LinkEvidence[]> {
  return ctx.database.kysely.selectFrom('link').selectAll().orderBy('install').orderBy('linkId').execute();
}

/** Every group that a trainer is in, or may be in. */
export function listInhabitedGroups(ctx: Storage): Promise<{ tool: string; groupId: string }[]> {
  return ctx.database.kysely
    .selectFrom('membership')
    .select(['tool', 'groupId'])
    .distinct()
    .where('state', 'in', heldStates)
    .execute();
}

/** Every trainer who was ever on a contract. */
export async function listTrainers(ctx: Storage, { install, contractId }: ContractKey): Promise<string[]> {
  const all = ctx.database.kysely.selectFrom('participation').select('trainerId').where('install', '=', install);
  const rows = await all.where('contractId', '=', contractId).orderBy('trainerId').execute();
  return rows.map(({ trainerId }) => trainerId);
}

/** Every contract and link of these trainers, past or present. */
export async function listEngagements(
  database: Database,
  db: Transaction,
  trainerIds: readonly string[],
): Promise<Engagement[]> {
  return await db
    .selectFrom('contract')
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .innerJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .selectAll('contract')
    .select(['contractLink.linkId', 'participation.trainerId', 'link.externalProjectId', 'link.externalProjectName'])
    .where('participation.trainerId', 'in', jsonTexts(database, trainerIds))
    .execute();
}
