import type { Member } from '../adapters/adapter.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { MembershipState, Operation, ReceiptOutcome } from '../domain/membership.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { isAccountOurs, knownMembers, noteAccount } from '../memberships/account-owner-store.ts';
import { dueLeftProjects, nextLeaving, noteEnded } from '../memberships/left-project-store.ts';
import type { RouteLink } from '../memberships/link-router.ts';
import { dueAgain } from '../memberships/look-store.ts';
import { unreadNote } from '../removals/final-reading-store.ts';
import { countRemoved } from '../removals/removal-total-store.ts';
import { askOthers, type Begun, tellAccount, unshared } from './account-store.ts';
import { type Claim, noLease } from './claim-store.ts';
import type { Unconfirmed } from './confirm-result.ts';
import { bindId, disown, isBoundToAnother, noteAddresses, noteGiven, withOwnership } from './given-store.ts';
import { forgetPasswords, type Intent, insertIntent, prolong } from './intent-store.ts';
import { createInvitationStore, type InvitationStore, type NewInvitation } from './invitation-store.ts';
import { addReceipt } from './receipt-store.ts';
import { isOutdated, wantReset } from './reset-store.ts';

/** The SQL of acting on a claim: the intent before a call, and the receipt after it. */
export interface SettleStore {
  /**
   * Commits the intent that must stand before a call, and prolongs the lease for it.
   *
   * @returns null where the claim no longer holds, so that the call must not be made
   */
  begin(claim: Claim, intent: Intent, now: string, leasedUntil: string): Promise<Begun | null>;
  /** Whether it is known that we made an account of the tool. */
  isAccountOurs(claim: Pick<Claim, 'tool' | 'trainerId'>, found: Pick<Member, 'id' | 'madeAt'>): Promise<boolean>;
  /** Whether an id is known as that of another trainer who is, or may be, in. */
  isBoundToAnother(claim: Pick<Claim, 'tool' | 'trainerId'>, id: string): Promise<boolean>;
  /**
   * Lets go of an id that means another account by now, or may.
   *
   * @returns whether it was believed until now
   */
  disown(claim: Claim, id: string, isInDoubt: boolean): Promise<boolean>;
  /** Which of these ids belong to somebody else, or to another access of the same trainer that stands. */
  knownMembers(claim: Claim, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Projects that they have left, in which what is assigned to them is to be taken away by now. */
  leftProjects(claim: Claim, now: string): Promise<string[]>;
  noteEnded(claim: Claim, project: string, now: string): Promise<void>;
  /** Writes the receipt, and the result where the claim still holds; else asks for another look. */
  settle(claim: Claim, result: Result, now: string): Promise<void>;
}

export interface Result {
  operation: Operation;
  outcome: ReceiptOutcome;
  state: MembershipState;
  /** What was learnt of the member; stays as it was where nothing was. */
  memberId?: string;
  isOurs?: boolean;
  /** Whether we made the account; left out where that was not learnt. */
  isAccountOurs?: boolean;
  /** When the tool made it. */
  madeAt?: string;
  /** Whether nothing is left of an account of which it was not known whose it is. */
  isDoubtSettled?: true;
  /** When to try again; null when there is nothing left to do. */
  nextAttemptAt: string | null;
  errorCode?: ErrorCode;
  /** False where what went wrong says nothing of how the tool is. */
  isOfToolItself?: false;
  retryAfterMs?: number | undefined;
  toolStatus?: number | undefined;
  message?: string | undefined;
  /** How they get in, where they have to be told. */
  invitation?: NewInvitation;
  /** Whether a password was made up for them, which is not needed any more. */
  hasPassword?: boolean;
  /** As whom they may be in, where it cannot be proven that they are out: accounts, as they are shown. */
  mayBeIn?: readonly string[];
  /** Whether a call was made of which nobody knows whether it was done. */
  isUnanswered?: true;
  /** What is to be looked at again; stays as it was where it is not told. */
  unconfirmed?: Unconfirmed;
  /** Whether the link that lets everybody in is to be made worthless. */
  wantsReset?: boolean;
}

export function createSettleStore(database: Database, box: SecretBox, routeLink: RouteLink): SettleStore {
  const invitations = createInvitationStore(box);
  return {
    async begin(claim, intent, now, leasedUntil) {
      const write = async (tx: Transaction) => {
        if (!(await prolong(tx, claim, intent, now, leasedUntil))) return null;
        await insertIntent(tx, box, claim, intent, now);
        if (intent.operation !== 'add') {
          return await askOthers(tx, { box, routeLink }, claim, intent.found);
        }
        await noteGiven(tx, claim, intent, now);
        return unshared;
      };
      return await inTransaction(database, write, { isDurable: true });
    },

    isAccountOurs: (claim, found) => isAccountOurs(database.kysely, claim, found),

    isBoundToAnother: (claim, id) => isBoundToAnother(database.kysely, claim, id),

    disown: (claim, id, isInDoubt) => inTransaction(database, (tx) => disown(tx, claim, id, isInDoubt)),

    knownMembers: (claim, ids) => knownMembers(database.kysely, claim, ids),

    leftProjects: ({ id }, now) => dueLeftProjects(database.kysely, id, now),

    noteEnded: (claim, project, now) => inTransaction(database, (tx) => noteEnded(tx, claim.id, project, now)),

    settle: (claim, result, now) =>
      inTransaction(database, async (tx) => {
        const isWorthless = await isOutdated(database, tx, claim, result.invitation);
        const known = await withOwnership(tx, box, claim, result);
        if (isNews(claim, known)) await insertReceipt(tx, claim, known, now);
        const isHeld = await settleHeld(tx, claim, known, now);
        if (!isHeld) await settleLost(tx, claim, known, now);
        await bindId(tx, box, claim, known, now);
        await noteAccount(tx, claim, known, now);
        await tellAccount(tx, box, claim, known, now);
        if (isHeld) await settleOurs(tx, invitations, claim, { ...known, isWorthless }, now);
        if (known.wantsReset) await wantReset(tx, claim, now);
        await countRemoved(tx, claim, known);
      }),
  };
}

async function settleOurs(
  tx: Transaction,
  invitations: InvitationStore,
  claim: Claim,
  result: Result & { isWorthless: boolean },
  now: string,
): Promise<void> {
  await noteAddresses(tx, claim, result, now);
  await settleInvitation(tx, invitations, claim, result, now);
}

/** Who is in, or out, needs no link any more; who is out, nothing at all. */
async function settleInvitation(
  tx: Transaction,
  invitations: InvitationStore,
  claim: Claim,
  { state, invitation, hasPassword = false, isWorthless }: Result & { isWorthless: boolean },
  now: string,
): Promise<void> {
  const { id } = claim;
  if (state === 'removed' || state === 'released') await invitations.drop(tx, id);
  if (state === 'active') await invitations.dropLink(tx, id);
  if (invitation !== undefined) await invitations.keep(tx, id, invitation, now);
  if (isWorthless) await invitations.renew(tx, id, now);
  const isSettled = state === 'active' || state === 'invited' || state === 'removed';
  if (isSettled && (claim.password !== null || hasPassword)) await forgetPasswords(tx, [id]);
}

/** A look that shows what was known is nothing to keep. */
function isNews(claim: Claim, { outcome, state }: Result): boolean {
  const isUnchanged = outcome === 'already_member' || outcome === 'already_absent';
  return !isUnchanged || claim.state !== state;
}

async function insertReceipt(
  tx: Transaction,
  claim: Claim,
  { operation, outcome, toolStatus, message, memberId }: Result,
  now: string,
): Promise<void> {
  const note = outcome === 'removed' ? await unreadNote(tx, claim, memberId) : null;
  const said = [message ?? null, note].filter((part) => part !== null);
  await addReceipt(tx, {
    membershipId: claim.id,
    generation: claim.generation,
    operation,
    outcome,
    toolStatus: toolStatus ?? null,
    message: said.length === 0 ? null : said.join('. '),
    createdAt: now,
  });
}

async function settleHeld(tx: Transaction, claim: Claim, result: Result, now: string): Promise<boolean> {
  const { id, token, generation, attempts } = claim;
  const { outcome, state, memberId, isOurs, nextAttemptAt, message, isDoubtSettled } = result;
  // Taken out, and another account of theirs may be left.
  const hasFailed = outcome === 'failed' || outcome === 'refused' || state === 'failed';
  const settled = await tx
    .updateTable('membership')
    .set((eb) => ({
      ...noLease,
      ...toUnconfirmed(claim, result),
      state,
      ...(memberId !== undefined && { memberId }),
      ...(isOurs !== undefined && { isOurs: isOurs ? 1 : 0 }),
      ...(isDoubtSettled && { doubtedId: null }),
      nextAttemptAt: eb
        .case()
        .when('lookAgain', '=', 1)
        .then(now)
        .else(eb.fn.coalesce(eb.val(nextAttemptAt), nextLeaving(eb)))
        .end(),
      lookAgain: 0,
      attempts: hasFailed ? attempts + 1 : 0,
      failure: hasFailed ? (message ?? null) : null,
      updatedAt: now,
    }))
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .where('generation', '=', generation)
    .executeTakeFirst();
  return settled.numUpdatedRows === 1n;
}

/** A call whose end is known arrives no more: what is told of those before it stands as it did. */
function toUnconfirmed(
  { lateUntil }: Claim,
  { isUnanswered, unconfirmed }: Pick<Result, 'isUnanswered' | 'unconfirmed'>,
): Partial<Unconfirmed> {
  const told = { lateUntil, ...unconfirmed };
  if (!isUnanswered) return told;
  const { lateUntil: _, ...kept } = told;
  return kept;
}

/**
 * Something else is wanted by now, or somebody else took the work over. What was done may have
 * undone theirs, also after they looked: whatever they come to settle, the tool is looked at again.
 */
async function settleLost(
  tx: Transaction,
  claim: Claim,
  { outcome, memberId, isUnanswered }: Result,
  now: string,
): Promise<void> {
  const { id, token, lateUntil } = claim;
  const learnt = {
    ...(memberId !== undefined && { memberId }),
    // Whatever was settled meanwhile: this one was put there by us.
    ...(outcome === 'added' && { isOurs: 1 }),
  };
  const kept = await tx
    .updateTable('membership')
    .set((eb) => ({ ...noLease, ...learnt, ...(!isUnanswered && { lateUntil }), nextAttemptAt: dueAgain(eb, now) }))
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .executeTakeFirst();
  if (kept.numUpdatedRows === 1n) return;
  await tx
    .updateTable('membership')
    .set((eb) => ({ ...learnt, lookAgain: 1, nextAttemptAt: dueAgain(eb, now) }))
    .where('id', '=', id)
    .execute();
}
