import type { Context } from '../context.ts';
import type { By } from '../db/audit-store.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { describeCause } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { countPlanWork } from '../reconcile/runs/run-store.ts';
import { checkSilence } from '../reconcile/runs/silence.ts';
import { findOpenPlan, installsOfPlan, listPlanItems, type PlanItem } from '../removals/plan-store.ts';
import { decidePlan } from './decide-plan.ts';
import { type Patience, workUntil } from './do-work.ts';
import { readNow } from './reconcile-now.ts';

/**
 * This folder holds what operators decide and look up from the command line. All of it can be done beside a running
 * `start`, on the same database: it stores decisions and leaves acting on them to the workers.
 */

export interface Approval {
  patience: Patience;
  /** Only these memberships; the rest stays in the open plan. */
  only?: readonly number[] | undefined;
  /** Whether to go by what is known without asking the marketplace, as in an outage. */
  isUnread?: boolean;
  /** How long the marketplace is asked at most, if the patience is longer. */
  readWithinMs?: number;
}

const usualReadMs = 60_000;

/**
 * Approves the removals of a plan and carries them out, beside a running bridge or without one. The marketplace is
 * asked first: the reason of the plan may have been undone without a delivery. After a silence, no other older
 * removals are carried out with them.
 *
 * @returns who stays for now as `dropped`, and in `isRead` whether the marketplace was read first
 * @throws AppError `not_found`, or `conflict` where it was decided before; `unavailable` where the marketplace could
 *   not be asked
 */
export async function approvePlan(ctx: Context, by: By, planId: number, approval: Approval) {
  const { patience, only, isUnread = false } = approval;
  await findOpenPlan(ctx.database.kysely, planId);
  await checkSilence(ctx);
  const isRead = !isUnread && (await readFor(ctx, planId, approval));
  // The decision comes after the reading, so that it counts as newer.
  const decidedBy = { ...by, at: toInstant(ctx.clock.now()) };
  const how = isUnread ? ' --without-reading' : '';
  const decided = await decidePlan(ctx, decidedBy, 'approve', planId, { only, how });
  const isAsked = createIsAsked(only);
  const stale = (await listPlanItems(ctx, planId)).filter((item) => item.isStale && isAsked(item));
  const dropped = stale.map((item) => ({ ...item, reason: whyDropped(item.current) }));
  const countPlan = () => countPlanWork(ctx, planId);
  const done = await workUntil(ctx, patience, ({ left }) => left, countPlan);
  return { ...decided, isRead, dropped, ...done };
}

/**
 * Reads all installs whose word keeps a trainer of the plan in, or did.
 *
 * @returns false where there was nothing to ask
 * @throws AppError `unavailable` where one could not be read
 */
async function readFor(
  ctx: Context,
  planId: number,
  { patience, only, readWithinMs = usualReadMs }: Approval,
): Promise<boolean> {
  const isAsked = createIsAsked(only);
  const { install: own } = await findOpenPlan(ctx.database.kysely, planId);
  const items = (await listPlanItems(ctx, planId)).filter(
    (item) => item.outcome === null && !item.isStale && isAsked(item),
  );
  // Retired trainers are removed because the operator decided so. No reading matters.
  if (items.every(({ cause }) => cause === 'retired')) return false;
  const asked = (await installsOfPlan(ctx, planId, only)).filter(
    ({ install }) => install === own || ctx.installs.has(install),
  );
  const revoked = new Set(asked.filter(({ isRevoked }) => isRevoked).map(({ install }) => install));
  const installs = asked.map(({ install }) => install);
  const within = AbortSignal.timeout(Math.max(patience.waitMs, readWithinMs));
  const signal = AbortSignal.any([patience.signal, within]);
  const failures = await readNow(ctx, installs, { ...patience, signal });
  for (const [install, failure] of failures) {
    if (revoked.has(install) && (await isRefused(ctx, install, signal))) continue;
    throw new AppError(
      'unavailable',
      `Plan ${planId} was not approved, because ${install} could not be read: ${failure}. ` +
        `To approve it without this reading, run gangway plans approve ${planId}${sayOnly(only)} --without-reading`,
    );
  }
  return true;
}

function createIsAsked(only: readonly number[] | undefined) {
  const ids = only && new Set(only);
  return ({ membershipId }: PlanItem) => ids === undefined || ids.has(membershipId);
}

/** A customer who has disconnected can no longer be read: the refusal says the same as the plan. */
async function isRefused({ sources }: Context, install: string, signal: AbortSignal): Promise<boolean> {
  try {
    await sources.get(install)?.readGrant(signal);
    return false;
  } catch (error) {
    const { code } = toAppError(error);
    return code === 'unauthenticated' || code === 'forbidden';
  }
}

function sayOnly(only: readonly number[] | undefined): string {
  return (only ?? []).map((id) => ` --only ${id}`).join('');
}

/** Why the removal of an item that is stale is no longer due as the plan says. Pure. */
export function whyDropped({ state, wanted, cause }: PlanItem['current']): string {
  if (state === 'orphaned') return 'the configuration no longer covers them';
  if (wanted) return 'they are wanted again';
  if (state === 'removed') return 'they are already out';
  if (state === 'released') return "they stay: not Gangway's to remove";
  if (cause === null) return 'there is new evidence about them';
  return `they are now to be removed for another reason, which is decided separately: ${describeCause(cause)}`;
}
