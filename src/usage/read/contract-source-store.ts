import { jsonTexts } from '../../db/json-list.ts';
import { onSame } from '../../db/on-same.ts';
import type { ContractEvidence, LinkEvidence } from '../../domain/evidence.ts';
import { heldStates } from '../../domain/membership.ts';
import type { Storage } from '../../keys/storage.ts';

// The SQL that usage reads contracts, links and participations with. It changes nothing.

export interface ContractParticipant {
  contractId: string;
  trainerId: string;
}

export interface Engagement extends ContractEvidence {
  trainerId: string;
  linkId: string;
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

/** Every trainer who was ever on these contracts of an install. */
export function listParticipants(
  ctx: Storage,
  install: string,
  contractIds: readonly string[],
): Promise<ContractParticipant[]> {
  return ctx.database.kysely
    .selectFrom('participation')
    .select(['contractId', 'trainerId'])
    .where('install', '=', install)
    .where('contractId', 'in', jsonTexts(ctx.database, contractIds))
    .orderBy('contractId')
    .orderBy('trainerId')
    .execute();
}

/** Every contract and link of these trainers, or of all trainers, past or present. */
export async function listEngagements(
  ctx: Storage,
  { trainerIds }: { trainerIds?: readonly string[] } = {},
): Promise<Engagement[]> {
  const all = ctx.database.kysely
    .selectFrom('contract')
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .innerJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .selectAll('contract')
    .select(['contractLink.linkId', 'participation.trainerId']);
  if (trainerIds === undefined) return await all.execute();
  const wanted = jsonTexts(ctx.database, trainerIds);
  return await all.where('participation.trainerId', 'in', wanted).execute();
}
