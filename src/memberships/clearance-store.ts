import type { Database, Transaction } from '../db/database.ts';
import { isFree } from '../db/lock.ts';
import { firstIdSince, inParts } from '../db/query.ts';
import type { BrakeDecision } from '../domain/brake.ts';
import type { RemovalCause } from '../domain/standing.ts';

// The SQL of the brake's decisions: a removal is cleared, held, or taken back.

/** Clears removals for execution and records the clearance. */
export async function clearRemovals(
  tx: Transaction,
  install: string,
  cleared: BrakeDecision['cleared'],
  now: string,
): Promise<void> {
  const rows = cleared.map(({ removal: { membershipId, generation, cause }, clearance }) => {
    return { install, membershipId, generation, cause, clearance, clearedAt: now };
  });
  const ids = rows.map(({ membershipId }) => membershipId);
  await tx
    .updateTable('membership')
    .set((eb) => ({
      state: 'removing',
      removeAfter: null,
      nextAttemptAt: now,
      clearedGeneration: eb.ref('generation'),
      updatedAt: now,
    }))
    .where('id', 'in', ids)
    .execute();
  for (const part of inParts(rows)) await tx.insertInto('removal').values(part).execute();
}

/** Holds removals until their plan is decided. */
export async function holdRemovals(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ state: 'held', removeAfter: null, nextAttemptAt: null, updatedAt: now })
    .where('id', 'in', membershipIds)
    .execute();
}

/** Makes held removals due that an operator has approved. The brake lets them pass. */
export async function approveRemovals(
  tx: Transaction,
  removals: readonly { membershipId: number }[],
  now: string,
): Promise<void> {
  const ids = removals.map(({ membershipId }) => membershipId);
  await tx.updateTable('membership').set({ removeAfter: now, updatedAt: now }).where('id', 'in', ids).execute();
}

/** Takes back cleared removals that have not begun. */
export async function takeBackRemovals(
  tx: Transaction,
  removals: readonly { id: number; membershipId: number }[],
): Promise<void> {
  const ids = removals.map(({ id }) => id);
  await tx.deleteFrom('removal').where('id', 'in', ids).execute();
  const membershipIds = removals.map(({ membershipId }) => membershipId);
  await tx
    .updateTable('membership')
    .set({ clearedGeneration: null, nextAttemptAt: null })
    .where('id', 'in', membershipIds)
    .execute();
}

/** Sends cleared removals that have not begun back to the brake, because their evidence is old. */
export async function askBrakeAgain(
  tx: Transaction,
  installs: readonly string[],
  now: string,
  causes: readonly RemovalCause[],
): Promise<void> {
  const rows = await tx
    .updateTable('membership')
    .set({ state: 'removing', clearedGeneration: null, nextAttemptAt: null, removeAfter: now })
    .where('install', 'in', installs)
    .where('wanted', '=', false)
    .where('state', 'in', ['removing', 'failed'])
    .where('cause', 'in', causes)
    .whereRef('clearedGeneration', '=', 'generation')
    .where(isFree('membership', now))
    .returning('id')
    .execute();
  const ids = rows.map(({ id }) => id);
  await retractRemovals(tx, ids, 'generation');
}

/** Deletes the clearances of these memberships that were not executed. */
export async function retractRemovals(
  tx: Transaction,
  membershipIds: number[],
  generation: 'generation' | 'clearedGeneration' = 'clearedGeneration',
): Promise<void> {
  await tx
    .deleteFrom('removal')
    .where('membershipId', 'in', membershipIds)
    .where((eb) =>
      eb(
        'generation',
        '=',
        eb
          .selectFrom('membership')
          .select(`membership.${generation}`)
          .whereRef('membership.id', '=', 'removal.membershipId'),
      ),
    )
    .execute();
}

/** Counts cleared removals, by install and clearance. */
export async function countCleared(
  kysely: Database['kysely'],
  since: string,
): Promise<{ install: string; clearance: string; count: number }[]> {
  return await kysely
    .selectFrom('removal')
    .select(['install', 'clearance', kysely.fn.countAll<number>().as('count')])
    .where('id', '>=', await firstIdSince(kysely, 'removal', 'clearedAt', since))
    .where('clearedAt', '>=', since)
    .groupBy(['install', 'clearance'])
    .orderBy('install')
    .orderBy('clearance')
    .execute();
}
