import type { Storage } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { isByOperator, removalCauses, weakerCauses } from '../../domain/standing.ts';
import { askBrakeAgain } from '../../memberships/clearance-store.ts';
import { postponeDerivation } from '../../memberships/derivation-store.ts';
import { expectForgottenCalls, lookInTools, reopenUntouched } from '../../memberships/look-store.ts';
import { wantRead, writeInstallStates } from './install-state-store.ts';

// The SQL that holds what is due until installs are read again, and that has them read.

/** All causes except those by an operator. */
const onOurEvidence = removalCauses.filter((cause) => !isByOperator(cause));

/** Nothing older than `now` is converged before the installs are read. */
export async function holdInstalls(ctx: Storage, installs: string[], now: string): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await wantRead(tx, installs, now, 'silence');
    await writeInstallStates(tx, installs, { heldSince: now, removalsHeldSince: now });
    await askBrakeAgain(tx, installs, now, onOurEvidence);
  });
}

/** The same, but only for removals on weaker evidence. */
export async function holdRemovalsOf(ctx: Storage, installs: string[], now: string): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await wantRead(tx, installs, now, 'silence');
    await writeInstallStates(tx, installs, { removalsHeldSince: now });
    await askBrakeAgain(tx, installs, now, weakerCauses);
  });
}

/**
 * Has every trainer looked for who is believed to be in one of these tools, and, at an end, those who wait to be added
 * to any.
 *
 * @param aliveAt when an instance last ran, as the database says; null if none has run
 */
export async function lookAgainInTools(
  ctx: Storage,
  tools: readonly string[],
  aliveAt: string | null,
  now: string,
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    if (tools.length > 0) await lookInTools(tx, tools, now);
    await expectForgottenCalls(tx, now);
    if (aliveAt === null) return;
    await postponeDerivation(tx, await reopenUntouched(tx, aliveAt, now));
  });
}

/** Ends holds that are as old as this or older, because an install may never be readable again. */
export async function releaseHeldRemovals(ctx: Storage, since: string): Promise<void> {
  for (const column of ['heldSince', 'removalsHeldSince'] as const) {
    const held = ctx.database.kysely.selectFrom('installState').where(column, '<=', since);
    if ((await held.select('install').limit(1).executeTakeFirst()) === undefined) continue;
    await inTransaction(ctx.database, (tx) =>
      tx
        .updateTable('installState')
        .set({ [column]: null })
        .where(column, '<=', since)
        .execute(),
    );
  }
}
