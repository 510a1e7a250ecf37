import type { Context, Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { lockEvidence } from '../memberships/derivation-store.ts';
import { countPlanWork } from '../reconcile/runs/run-store.ts';
import { checkSilence } from '../reconcile/runs/silence.ts';
import {
  decidePlanItems,
  findOpenPlan,
  installsOfPlan,
  listPlanItems,
  type PlanItem,
  type PlanResult,
} from '../removals/plan-store.ts';
import { type Patience, readNow, workUntil } from './reconcile-now.ts';

/**
 * Stores what an operator decided about the removals of a plan. The running workers execute them.
 *
 * @param only these memberships; the others stay in the open plan
 * @param how for the audit log, if it can be decided in several ways
 * @throws AppError `not_found`, or `conflict` if it was decided before
 */
export async function decidePlan(
  ctx: Storage,
  by: By,
  decision: 'approve' | 'reject',
  planId: number,
  { only, how = '' }: { only?: readonly number[] | undefined; how?: string } = {},
): Promise<PlanResult> {
  if (only?.length === 0) throw new AppError('invalid', 'Choose at least one person');
  return await inTransaction(ctx.database, async (tx) => {
    // Otherwise a derivation could change the memberships between the read and the write.
    await lockEvidence(ctx, tx);
    const done = decision === 'approve' ? 'approved' : 'rejected';
    const result = await decidePlanItems(ctx, tx, planId, done, by.at, only);
    const { decided, stale, open } = result;
    const change = {
      before: `${decided + stale + open} open`,
      after: `${decided} ${done}, ${stale} stale, ${open} open`,
    };
    const which = only === undefined ? '' : `, memberships ${only.join(', ')}`;
    await writeAudit(tx, by, `plans ${decision}${how}`, `plan ${planId}${which}`, change);
    return result;
  });
}

export interface Approval {
  patience: Patience;
  /** Only these memberships; the others stay in the open plan. */
  only?: readonly number[] | undefined;
  /** Whether to approve without a reading, as in an outage of the marketplace. */
  isUnread?: boolean;
  /** The time-out of the reading, unless the patience is longer. */
  readWithinMs?: number;
}

const usualReadMs = 60_000;

/**
 * Approves the removals of a plan and carries them out, beside a running instance or without one. It reads the
 * marketplace first, because the reason of the plan may have been undone without a delivery. After a silence, it carries
 * out no other removals.
 *
 * @returns in `dropped` who stays for now, and in `isRead` whether the marketplace was read
 * @throws AppError `not_found`, or `conflict` if it was decided before; `unavailable` if the marketplace could not be
 *   read
 */
export async function approvePlan(ctx: Context, by: By, planId: number, approval: Approval) {
  const { patience, only, isUnread = false } = approval;
  const { install } = await findOpenPlan(ctx.database.kysely, planId);
  await checkSilence(ctx);
  const isRead = !isUnread && (await readFor(ctx, planId, install, approval));
  // The decision must be newer than the reading.
  const decidedBy = { ...by, at: toInstant(ctx.clock.now()) };
  const decided = await decidePlan(ctx, decidedBy, 'approve', planId, {
    only,
    how: isUnread ? ' --without-reading' : '',
  });
  const stale = (await listItems(ctx, planId, only)).filter((item) => item.isStale);
  const dropped = stale.map((item) => ({ ...item, reason: whyDropped(item.current) }));
  const done = await workUntil(
    ctx,
    patience,
    ({ left }) => left,
    () => countPlanWork(ctx, planId),
  );
  return { ...decided, isRead, dropped, ...done };
}

async function listItems(ctx: Storage, planId: number, only: readonly number[] | undefined): Promise<PlanItem[]> {
  const ids = only && new Set(only);
  return (await listPlanItems(ctx, planId)).filter(({ membershipId }) => ids === undefined || ids.has(membershipId));
}

/**
 * Reads all installs that give a reason for a trainer of the plan, or did.
 *
 * @returns false if there was nothing to read
 * @throws AppError `unavailable` if an install could not be read
 */
async function readFor(
  ctx: Context,
  planId: number,
  own: string,
  { patience, only, readWithinMs = usualReadMs }: Approval,
): Promise<boolean> {
  const open = (await listItems(ctx, planId, only)).filter(({ outcome, isStale }) => outcome === null && !isStale);
  // An operator decided to retire these people, so no reading matters.
  if (open.every(({ cause }) => cause === 'retired')) return false;
  const asked = (await installsOfPlan(ctx, planId, only)).filter(
    ({ install }) => install === own || ctx.installs.has(install),
  );
  const within = AbortSignal.timeout(Math.max(patience.waitMs, readWithinMs));
  const signal = AbortSignal.any([patience.signal, within]);
  const installs = asked.map(({ install }) => install);
  for (const [install, failure] of await readNow(ctx, installs, { ...patience, signal })) {
    const isRevoked = asked.some((one) => one.install === install && one.isRevoked);
    if (isRevoked && (await isRefused(ctx, install, signal))) continue;
    const named = (only ?? []).map((id) => ` --only ${id}`).join('');
    throw new AppError(
      'unavailable',
      `Plan ${planId} was not approved, because ${install} could not be read: ${failure}. ` +
        `To approve it without this reading, run gangway plans approve ${planId}${named} --without-reading`,
    );
  }
  return true;
}

/** A customer who has disconnected can no longer be read. The refusal confirms the plan. */
async function isRefused({ sources }: Context, install: string, signal: AbortSignal): Promise<boolean> {
  try {
    await sources.get(install)?.readGrant(signal);
    return false;
  } catch (error) {
    return ['unauthenticated', 'forbidden'].includes(toAppError(error).code);
  }
}

/** Pure: why the removal of a stale item is no longer due. */
export function whyDropped({ state, wanted, cause }: PlanItem['current']): string {
  if (state === 'orphaned') return 'the configuration no longer covers them';
  if (wanted) return 'they are wanted again';
  if (state === 'removed') return 'they are already out';
  if (state === 'released') return "they stay: not Gangway's to remove";
  if (cause === null) return 'there is new evidence about them';
  return `they are now to be removed for another reason, which is decided separately: ${describeCause(cause)}`;
}
