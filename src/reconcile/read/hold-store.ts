import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { isByOperator, removalCauses, weakerCauses } from '../../domain/standing.ts';
import { askBrakeAgain } from '../../memberships/clearance-store.ts';
import { createDerivationStore } from '../../memberships/derivation-store.ts';
import { expectForgottenCalls, lookInTools, reopenUntouched } from '../../memberships/look-store.ts';

/** The SQL that holds what is due until installs are read again, and that has them read. */
export interface HoldStore {
  /** Nothing older than `now` is converged before the installs are read. */
  hold(installs: string[], now: string): Promise<void>;
  /** The same, but only for removals on weaker evidence. */
  holdRemovals(installs: string[], now: string): Promise<void>;
  /**
   * Has every trainer looked for who is believed to be in one of these tools, and, at an end, those who wait to be added
   * to any.
   *
   * @param aliveAt when an instance last ran, as the database says; null if none has run
   */
  lookAgain(tools: readonly string[], aliveAt: string | null, now: string): Promise<void>;
  /** Ends holds that are as old as this or older, because an install may never be readable again. */
  release(since: string): Promise<void>;
}

/** All causes except those by an operator. */
const onOurEvidence = removalCauses.filter((cause) => !isByOperator(cause));

export function createHoldStore(database: Database): HoldStore {
  const derivations = createDerivationStore(database);
  return {
    async hold(installs, now) {
      const held = { heldSince: now, removalsHeldSince: now };
      await inTransaction(database, async (tx) => {
        await holdInstalls(tx, installs, held, now);
        await askBrakeAgain(tx, installs, now, onOurEvidence);
      });
    },

    async holdRemovals(installs, now) {
      await inTransaction(database, async (tx) => {
        await holdInstalls(tx, installs, { removalsHeldSince: now }, now);
        await askBrakeAgain(tx, installs, now, weakerCauses);
      });
    },

    async lookAgain(tools, aliveAt, now) {
      await inTransaction(database, async (tx) => {
        if (tools.length > 0) await lookInTools(tx, tools, now);
        await expectForgottenCalls(tx, now);
        if (aliveAt === null) return;
        await derivations.postponeDerivation(tx, await reopenUntouched(tx, aliveAt, now));
      });
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
