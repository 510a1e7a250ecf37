import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { isByOperator, type RemovalCause, removalCauses, weakerCauses } from '../../domain/standing.ts';
import { chunksOf } from '../../removals/brake-store.ts';

/** The SQL that holds what is due until installs are read again, and that has them read. */
export interface HoldStore {
  /** Nothing older than `now` is converged before the installs are read. */
  hold(installs: string[], now: string): Promise<void>;
  /** The same, but only for removals on weaker evidence. */
  holdRemovals(installs: string[], now: string): Promise<void>;
  /** Has every trainer looked for who is believed to be in one of these tools. */
  lookAgain(tools: readonly string[], now: string): Promise<void>;
  /** Ends holds that are as old as this or older, because an install may never be readable again. */
  release(since: string): Promise<void>;
}

export function createHoldStore(database: Database): HoldStore {
  return {
    async hold(installs, now) {
      const held = { heldSince: now, removalsHeldSince: now };
      await inTransaction(database, async (tx) => {
        await holdInstalls(tx, installs, held, now);
        await askAgain(tx, installs, now);
      });
    },

    async holdRemovals(installs, now) {
      await inTransaction(database, async (tx) => {
        await holdInstalls(tx, installs, { removalsHeldSince: now }, now);
        await askAgain(tx, installs, now, weakerCauses);
      });
    },

    async lookAgain(tools, now) {
      if (tools.length === 0) return;
      await inTransaction(database, (tx) =>
        tx
          .updateTable('membership')
          .set({ lookAgain: 1, nextAttemptAt: now })
          .where('tool', 'in', tools)
          .where('wanted', '=', 1)
          .where('state', 'in', ['active', 'invited'])
          .execute(),
      );
    },

    async release(since) {
      for (const column of ['heldSince', 'removalsHeldSince'] as const) {
        const held = database.kysely.selectFrom('installState').where(column, '<=', since);
        if ((await held.select('install').limit(1).executeTakeFirst()) === undefined) continue;
        await inTransaction(database, (tx) =>
          tx
            .updateTable('installState')
            .set({ [column]: null })
            .where(column, '<=', since)
            .execute(),
        );
      }
    },
  };
}

async function holdInstalls(
  tx: Transaction,
  installs: string[],
  held: { heldSince?: string; removalsHeldSince: string },
  now: string,
): Promise<void> {
  if (installs.length === 0) return;
  const wanted = { readWantedAt: now, readWantedBy: 'silence', attempts: 0 } as const;
  const values = { ...held, ...wanted, nextAttemptAt: now };
  await tx
    .insertInto('installState')
    .values(installs.map((install) => ({ install, ...values })))
    .onConflict((conflict) => conflict.column('install').doUpdateSet(values))
    .execute();
}

/**
 * Sends removals that were cleared but not begun back to the brake, because their evidence is old.
 *
 * @param causes only these; by default all that no operator asked for
 */
async function askAgain(
  tx: Transaction,
  installs: readonly string[],
  now: string,
  causes: readonly RemovalCause[] = removalCauses.filter((cause) => !isByOperator(cause)),
): Promise<void> {
  if (installs.length === 0) return;
  const rows = await tx
    .updateTable('membership')
    .set({ state: 'removing', clearedGeneration: null, nextAttemptAt: null, removeAfter: now })
    .where('install', 'in', installs)
    .where('wanted', '=', 0)
    .where('state', 'in', ['removing', 'failed'])
    .where('cause', 'in', causes)
    .whereRef('clearedGeneration', '=', 'generation')
    .where((eb) => eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', now)]))
    .returning('id')
    .execute();
  for (const chunk of chunksOf(rows)) {
    await tx
      .deleteFrom('removal')
      .where(
        'membershipId',
        'in',
        chunk.map(({ id }) => id),
      )
      .where((eb) =>
        eb(
          'generation',
          '=',
          eb
            .selectFrom('membership')
            .select('membership.generation')
            .whereRef('membership.id', '=', 'removal.membershipId'),
        ),
      )
      .execute();
  }
}
