import type { Context } from '../../context.ts';
import { type By, writeAudit } from '../../db/audit-store.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { readSetting } from '../../db/setting-store.ts';
import { AppError } from '../../domain/errors.ts';
import { type Counts, noCounts } from '../../domain/usage.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { addDays } from '../../lib/days.ts';
import { markWorkStale } from '../../memberships/derivation-store.ts';
import { wholeKey } from '../attribute/attribute-work.ts';
import { type DayKey, findReported, releaseDays, reportIdOf } from '../report/ledger-store.ts';
import { planDays, reportedOf } from '../report/plan-install.ts';
import { type DueAndLedger, listLowered, setOpen } from './due-store.ts';
import { describeHeld } from './explain-day.ts';
import { dropDecision, findHeld, type HeldRow, heldIdOf, keepDecision } from './held-store.ts';
import { refreshDue, refreshTrainers } from './refresh-due.ts';

/**
 * Assigns held work to a contract, or discards it for null. The next report sends the consequence, however old the day.
 *
 * @throws AppError `not_found` if no such work is held; `invalid` for a contract that it cannot belong to; `conflict` if
 *   the work would still be held
 */
export async function decideHeld(ctx: Context, by: By, id: string, contractId: string | null): Promise<void> {
  await decide(ctx, by, async (tx) => {
    const held = await needHeld(tx, id);
    const contract = held.contracts.find((one) => one.contractId === contractId);
    if (contractId !== null && contract === undefined) {
      const known = held.contracts.map((one) => one.contractId).join(', ') || 'none';
      throw new AppError('invalid', `The work cannot belong to this contract. Possible contracts: ${known}`);
    }
    await keepDecision(tx, held, contract ?? null, toInstant(ctx.clock.now()));
    await refresh(ctx, tx, held);
    const after = await findHeld(tx, id);
    if (after === undefined || after.state === 'held') {
      // A part may be held because the whole work would be at fault.
      const { reason } = after ?? (await findHeld(tx, heldIdOf(wholeKey(held.work)))) ?? held;
      throw new AppError(
        'conflict',
        `Nothing was changed, because the work would still be held: ${describeHeld[reason]}`,
      );
    }
    return `${id} ${contractId === null ? 'discarded' : `assigned to ${contractId}`}`;
  });
}

/** @throws AppError `not_found` if nothing was decided */
export async function takeBackDecision(ctx: Context, by: By, id: string): Promise<void> {
  await decide(ctx, by, async (tx) => {
    const held = await needHeld(tx, id);
    if (!(await dropDecision(tx, held.work))) throw new AppError('not_found', `Nothing was decided about ${id}`);
    await refresh(ctx, tx, held);
    return `${id} taken back`;
  });
}

/**
 * Decides about a day that changed after its last report: the next report sends it, or none does.
 *
 * @throws AppError `not_found` if the day had no last report
 */
export async function decideLate(ctx: Context, by: By, reportId: string, isSent: boolean): Promise<void> {
  await decide(ctx, by, async (tx) => {
    const day = await findReported(tx, reportId);
    if (day?.closedAt == null) throw new AppError('not_found', `There is no late change ${reportId}`);
    if (isSent) await releaseDays(tx, [day]);
    await setOpen(tx, day, isSent);
    return `${reportId} ${isSent ? 'sent' : 'dismissed'}`;
  });
}

/** @param change returns the text for the audit log */
async function decide(ctx: Context, by: By, change: (tx: Transaction) => Promise<string>): Promise<void> {
  await refreshDue(ctx);
  const decideAll = async (tx: Transaction) => await writeAudit(tx, by, 'usage held', await change(tx));
  await inTransaction(ctx.database, decideAll, { isDurable: true });
}

async function needHeld(tx: Transaction, id: string): Promise<HeldRow> {
  const held = await findHeld(tx, id);
  if (held === undefined) throw new AppError('not_found', `There is no held work ${id}`);
  return held;
}

async function refresh(ctx: Context, tx: Transaction, { trainerId, day }: HeldRow): Promise<void> {
  await markWorkStale(tx, [{ trainerId, fromDay: day, reopens: true }]);
  await refreshTrainers(ctx, tx, [trainerId]);
}

/** Days that changed after their last report, and that an operator has neither sent nor dismissed, however old. */
export async function listLate(ctx: Context, installs: readonly string[]) {
  const late: (DayKey & { id: string; from: Counts; to: Counts })[] = [];
  const closedBefore = await readSetting(ctx.database.kysely, 'usage_closed_before');
  if (closedBefore === undefined) return late;
  for (const install of reportedOf(ctx, installs)) {
    for await (const plan of planDays(ctx, { install, to: addDays(closedBefore, -1) })) {
      for (const { contractId, trainerId, day, counts: to, before: from } of plan.late) {
        const key = { install, contractId, trainerId, day };
        late.push({ ...key, id: reportIdOf(key), from, to });
      }
    }
  }
  return late;
}

/**
 * Days of which less is due than was reported: held ones, however old, and those that were sent within the look-back.
 *
 * @returns `since`: since when it is held, or when it was sent; `to`: null if nothing is due
 */
export async function listLowerings(ctx: Context, installs: readonly string[]) {
  const since = instantIn(ctx.clock, -ctx.config.usage.lookbackMs);
  const days = await Promise.all(installs.map((install) => listLowered(ctx, install, since)));
  return days.flat().flatMap((day) => toLowerings(day, since));
}

function toLowerings({ due, ledger, ...key }: DueAndLedger, since: string) {
  const { heldSince = null, lowered = null, answered = noCounts } = ledger ?? {};
  const held = { ...key, state: 'held' as const, from: answered, to: due?.counts ?? null };
  const reported = { ...key, state: 'reported' as const, to: answered };
  return [
    ...(heldSince === null ? [] : [{ ...held, since: heldSince }]),
    ...(lowered === null || lowered.at < since ? [] : [{ ...reported, since: lowered.at, from: lowered.from }]),
  ];
}
