import type { Context, Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import { hasChanged, onSame } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
import type { RouteLink } from '../domain/install.ts';
import { recordAccount } from '../memberships/identity-store.ts';
import { dueIfWorkable } from '../memberships/look-store.ts';
import { nextProjectEndAt } from '../memberships/membership-store.ts';
import { countRemoved } from '../removals/brake-store.ts';
import { describeUnreadWork } from '../removals/final-reading-store.ts';
import {
  isAccountShared,
  recordAccessGiven,
  recordAccessSettled,
  unbindFromOthers,
  withOwnership,
} from './access-store.ts';
import { type AccountUse, findAccountUse, unsharedAccount, updateAccountSharers } from './account-store.ts';
import { type Claim, noLease, prolongForCall } from './claim-store.ts';
import { type ConvergeResult, metAfterOf, type Unconfirmed } from './converge-result.ts';
import { dropInvitationLink, dropInvitations, keepInvitation, wantRenewals } from './invitation-store.ts';
import { addReceipt, forgetPasswords, type Intent, insertIntent } from './receipt-store.ts';
import { isOutdated, wantReset } from './reset-store.ts';

// The SQL of acting on a claim: the intent before a call, and the receipt after it.

/**
 * Commits the intent before a call, and prolongs the lease for the call.
 *
 * @returns null if the claim no longer holds, so that the call must not be made
 * @throws AppError `conflict` before an addition if the configuration no longer routes to the group
 */
export async function commitIntent(
  ctx: Context,
  claim: Claim,
  intent: Intent,
  now: string,
  leasedUntil: string,
): Promise<AccountUse | null> {
  const write = async (tx: Transaction) => {
    if (!(await prolongForCall(tx, claim, intent, now, leasedUntil))) return null;
    if (intent.operation === 'add') await refuseUnrouted(tx, ctx.routeLink, claim);
    await insertIntent(tx, ctx.box, claim, intent, now);
    if (intent.operation !== 'add') return await findAccountUse(ctx, tx, claim, intent.found);
    await recordAccessGiven(tx, claim, intent, now);
    return unsharedAccount;
  };
  return await inTransaction(ctx.database, write, { isDurable: true });
}

/**
 * Writes the receipt, and the result if the claim still holds. Otherwise it requests another look.
 *
 * @returns how long the trainer waited for access or for its end; null if the wait goes on, or the claim was lost
 */
export function settleMembership(
  ctx: Storage,
  claim: Claim,
  result: ConvergeResult,
  now: string,
): Promise<number | null> {
  return inTransaction(ctx.database, async (tx) => {
    const isWorthless = await isOutdated(ctx.database, tx, claim, result.invitation);
    const known = await withOwnership(tx, ctx.box, claim, result);
    const isHeld = await settleHeld(tx, claim, known, now);
    const metAfterMs = isHeld ? metAfterOf(claim, known, now) : null;
    await settleReceipt(tx, claim, known, metAfterMs, now);
    if (!isHeld) await settleLost(tx, claim, known, now);
    await recordAccount(tx, claim, known, now);
    const isShared = await isAccountShared(tx, claim, known);
    if (isShared) await unbindFromOthers(tx, ctx.box, claim, known, now);
    await updateAccountSharers(tx, ctx.box, claim, { ...known, isShared }, now);
    if (isHeld) {
      await recordAccessSettled(tx, claim, known, now);
      await settleInvitation(ctx, tx, claim, { ...known, isWorthless }, now);
    }
    if (known.wantsReset) await wantReset(tx, claim, now);
    await countRemoved(tx, claim, known);
    return metAfterMs;
  });
}

/** Checks the wall once more, because the configuration may have changed since the membership was derived. */
async function refuseUnrouted(tx: Transaction, routeLink: RouteLink, { id, tool, groupId }: Claim): Promise<void> {
  const { rows: links } = await findLinks(tx, { id });
  const routes = links.flatMap((link) => routeLink(link) ?? []);
  if (routes.some((route) => route.tool === tool && route.groupId === groupId)) return;
  throw new AppError('conflict', 'The configuration no longer covers this group');
}

const findLinks = prepared((db, { id }: { id: number }) =>
  db
    .selectFrom('reason')
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select(['link.install', 'externalProjectId', 'externalProjectName'])
    .where('membershipId', '=', id),
);

/** A member who is in needs no link, and a member who is out needs no invitation. */
async function settleInvitation(
  ctx: Storage,
  tx: Transaction,
  claim: Claim,
  { state, invitation, hasPassword = false, isWorthless }: ConvergeResult & { isWorthless: boolean },
  now: string,
): Promise<void> {
  const { id, hasInvitation } = claim;
  if (hasInvitation && (state === 'removed' || state === 'released')) await dropInvitations(tx, [id]);
  if (hasInvitation && state === 'active') await dropInvitationLink(tx, id);
  if (invitation !== undefined) await keepInvitation(ctx, tx, id, invitation, now);
  if (isWorthless) await wantRenewals(tx, [id], now);
  const isSettled = state === 'active' || state === 'invited' || state === 'removed';
  if (isSettled && (claim.password !== null || hasPassword)) await forgetPasswords(tx, [id]);
}

/** A look that changes nothing needs no receipt. */
function isNews(claim: Claim, { outcome, state }: ConvergeResult): boolean {
  const isUnchanged = outcome === 'already_member' || outcome === 'already_absent';
  return !isUnchanged || claim.state !== state;
}

async function settleReceipt(
  tx: Transaction,
  claim: Claim,
  result: ConvergeResult,
  metAfterMs: number | null,
  now: string,
): Promise<void> {
  if (!isNews(claim, result)) return;
  const { operation, outcome, toolStatus, message, memberId } = result;
  const note = outcome === 'removed' ? await describeUnreadWork(tx, claim, memberId) : null;
  const notes = [message ?? null, note].filter((part) => part !== null);
  await addReceipt(tx, {
    membershipId: claim.id,
    generation: claim.generation,
    operation,
    outcome,
    toolStatus: toolStatus ?? null,
    message: notes.length === 0 ? null : notes.join('. '),
    createdAt: now,
    metAfterMs,
  });
}

async function settleHeld(tx: Transaction, claim: Claim, result: ConvergeResult, now: string): Promise<boolean> {
  const { id, token: leaseToken, generation, attempts } = claim;
  const { outcome, state, memberId, nextAttemptAt, message, isDoubtSettled } = result;
  // The state can be `failed` after a successful removal, if another account of the trainer may be left.
  const hasFailed = outcome === 'failed' || outcome === 'refused' || state === 'failed';
  const { numAffectedRows } = await updateHeld(tx, {
    id,
    leaseToken,
    generation,
    nextAttemptAt,
    updatedAt: now,
    state,
    ...toUnconfirmed(claim, result),
    ...(memberId !== undefined && { memberId }),
    ...toOwnership(result),
    // The look has confirmed that the account in doubt is the trainer's.
    ...((isDoubtSettled || memberId === claim.doubtedId) && { doubtedId: null }),
    ...(isMet(result) && { unmetSince: null }),
    attempts: hasFailed ? attempts + 1 : 0,
    failure: hasFailed ? (message ?? null) : null,
  });
  return numAffectedRows === 1n;
}

type HeldUpdate = Partial<Row<'membership'>> &
  Pick<Row<'membership'>, 'id' | 'leaseToken' | 'generation' | 'nextAttemptAt' | 'updatedAt'>;

const updateHeld = prepared((db, { id, leaseToken, generation, nextAttemptAt, ...columns }: HeldUpdate) =>
  db
    .updateTable('membership')
    .set((eb) => ({
      ...noLease,
      ...columns,
      nextAttemptAt: eb
        .case()
        .when('lookAgain', '=', true)
        .then(columns.updatedAt)
        .else(eb.fn.coalesce(eb.val(nextAttemptAt), nextProjectEndAt(eb)))
        .end(),
      lookAgain: false,
    }))
    .where((eb) => eb.and({ id, leaseToken, generation })),
);

/** An operator's release no longer applies once the member is ours or removed. */
function toOwnership({ state, isOurs }: ConvergeResult): Partial<Row<'membership'>> {
  return {
    ...(isOurs !== undefined && { isOurs }),
    ...((isOurs || state === 'removed') && { releasedBy: null }),
  };
}

/** Whether the tool shows what is wanted, or nothing more is to be done. */
function isMet({ state }: ConvergeResult): boolean {
  return state === 'active' || state === 'invited' || state === 'removed' || state === 'released';
}

/** A call with a known outcome has no late effect, so its deadline is dropped and an earlier one stays. */
function toUnconfirmed(
  { lateUntil }: Claim,
  { isUnanswered, unconfirmed }: Pick<ConvergeResult, 'isUnanswered' | 'unconfirmed'>,
): Partial<Unconfirmed> {
  const known = { lateUntil, ...unconfirmed };
  if (!isUnanswered) return known;
  const { lateUntil: _, ...kept } = known;
  return kept;
}

/**
 * The membership has changed meanwhile, or another worker has taken it over. Our call may have undone that worker's
 * call, even after its read-back, so another look is due.
 */
async function settleLost(
  tx: Transaction,
  claim: Claim,
  { outcome, memberId, isUnanswered }: ConvergeResult,
  now: string,
): Promise<void> {
  const { id, token, lateUntil } = claim;
  const learnt = {
    ...(memberId !== undefined && { memberId }),
    // We added this member, whatever was settled meanwhile.
    ...(outcome === 'added' && { isOurs: true }),
  };
  const membership = tx.updateTable('membership').where('id', '=', id);
  const kept = membership
    .set((eb) => ({
      ...noLease,
      ...learnt,
      ...(!isUnanswered && { lateUntil }),
      nextAttemptAt: dueIfWorkable(eb, now),
    }))
    .where('leaseToken', '=', token);
  if (await hasChanged(kept)) return;
  await membership.set((eb) => ({ ...learnt, lookAgain: true, nextAttemptAt: dueIfWorkable(eb, now) })).execute();
}
