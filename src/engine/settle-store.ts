import type { Member } from '../adapters/adapter.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { MembershipState, Operation, ReceiptOutcome } from '../domain/membership.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import {
  askOthers,
  type Begun,
  dueAgain,
  isAccountOurs,
  noteAccount,
  tellAccount,
  unshared,
} from './account-store.ts';
import { type Claim, noLease } from './claim-store.ts';
import { unreadNote } from './final-reading-store.ts';
import {
  bindId,
  disown,
  isBoundToAnother,
  noteAddresses,
  noteGiven,
  withOwnership,
} from './given-store.ts';
import {
  createInvitationStore,
  credentialPlace,
  type InvitationStore,
  type NewInvitation,
} from './invitation-store.ts';
import type { RouteLink } from './link-router.ts';
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
  isAccountOurs(
    claim: Pick<Claim, 'tool' | 'trainerId'>,
    found: Pick<Member, 'id' | 'madeAt'>,
  ): Promise<boolean>;
  /** Whether an id is known as that of another trainer who is, or may be, in. */
  isBoundToAnother(claim: Pick<Claim, 'tool' | 'trainerId'>, id: string): Promise<boolean>;
  /**
   * Lets go of an id that means another account by now, or may.
   *
   * @returns whether it was believed until now
   */
  disown(claim: Claim, id: string, isInDoubt: boolean): Promise<boolean>;
  /** Writes the receipt, and the result where the claim still holds; else asks for another look. */
  settle(claim: Claim, result: Result, now: string): Promise<void>;
}

export interface Intent {
  operation: Operation;
  /** What the look before the call found in the group. */
  found: Member | null;
  /** Before adding: whether a look at the whole tool found no account of the address. */
  isAccountAbsent?: boolean | null;
  /** For the login that the call may make: kept, as nobody can say whether it did. */
  password?: string | null;
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
  retryAfterMs?: number | undefined;
  toolStatus?: number | undefined;
  message?: string | undefined;
  /** How they get in, where they have to be told. */
  invitation?: NewInvitation;
  /** Whether a password was made up for them, which is not needed any more. */
  hasPassword?: boolean;
  /** Whether the link that lets everybody in is to be made worthless. */
  wantsReset?: boolean;
}

export function createSettleStore(
  database: Database,
  box: SecretBox,
  routeLink: RouteLink,
): SettleStore {
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

    disown: (claim, id, isInDoubt) =>
      inTransaction(database, (tx) => disown(tx, claim, id, isInDoubt)),

    settle: (claim, result, now) =>
      inTransaction(database, async (tx) => {
        const isWorthless = await isOutdated(database, tx, claim, result.invitation);
        if (isNews(claim, result)) await insertReceipt(tx, claim, result, now);
        const known = await withOwnership(tx, box, claim, result);
        const isHeld = await settleHeld(tx, claim, known, now);
        if (!isHeld) await settleLost(tx, claim, result, now);
        await bindId(tx, box, claim, result, now);
        await noteAccount(tx, claim, result, now);
        await tellAccount(tx, box, claim, result, now);
        if (isHeld) await settleOurs(tx, invitations, claim, { ...result, isWorthless }, now);
        if (result.wantsReset) await wantReset(tx, claim, now);
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
  if (isSettled && (claim.password !== null || hasPassword)) await forgetPasswords(tx, id);
}

async function forgetPasswords(tx: Transaction, membershipId: number): Promise<void> {
  await tx
    .updateTable('intent')
    .set({ credential: null })
    .where('membershipId', '=', membershipId)
    .where('credential', 'is not', null)
    .execute();
}

async function prolong(
  tx: Transaction,
  { id, token, generation }: Claim,
  { operation, found }: Intent,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  const isAbsentBeforeAdding = operation === 'add' && found === null;
  const held = await tx
    .updateTable('membership')
    .set({ leasedUntil, ...(isAbsentBeforeAdding && { isOurs: 1 }) })
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .where('leasedUntil', '>', now)
    .where('generation', '=', generation)
    .executeTakeFirst();
  return held.numUpdatedRows === 1n;
}

async function insertIntent(
  tx: Transaction,
  box: SecretBox,
  { id: membershipId, generation }: Claim,
  { operation, found, password = null }: Intent,
  now: string,
): Promise<void> {
  const wasFound = found === null ? 0 : 1;
  const place = credentialPlace(membershipId, generation);
  const credential = password === null ? null : box.seal(Buffer.from(password), place);
  await tx
    .insertInto('intent')
    .values({ membershipId, generation, operation, wasFound, createdAt: now, credential })
    .execute();
}

/** A look that shows what was known is nothing to keep. */
function isNews(claim: Claim, { outcome, state }: Result): boolean {
  return outcome !== 'already_member' || claim.state !== state;
}

async function insertReceipt(
  tx: Transaction,
  { id, generation }: Claim,
  { operation, outcome, toolStatus, message }: Result,
  now: string,
): Promise<void> {
  const note = outcome === 'removed' ? await unreadNote(tx, { id, generation }) : null;
  await tx
    .insertInto('receipt')
    .values({
      membershipId: id,
      generation,
      operation,
      outcome,
      toolStatus: toolStatus ?? null,
      message: message ?? note,
      createdAt: now,
    })
    .execute();
}

async function settleHeld(
  tx: Transaction,
  { id, token, generation, attempts }: Claim,
  { outcome, state, memberId, isOurs, nextAttemptAt, message, isDoubtSettled }: Result,
  now: string,
): Promise<boolean> {
  // Taken out, and another account of theirs may be left.
  const hasFailed = outcome === 'failed' || outcome === 'refused' || state === 'failed';
  const settled = await tx
    .updateTable('membership')
    .set((eb) => ({
      ...noLease,
      state,
      ...(memberId !== undefined && { memberId }),
      ...(isOurs !== undefined && { isOurs: isOurs ? 1 : 0 }),
      ...(isDoubtSettled && { doubtedId: null }),
      nextAttemptAt: eb.case().when('lookAgain', '=', 1).then(now).else(nextAttemptAt).end(),
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

/**
 * Something else is wanted by now, or somebody else took the work over. What was done may have
 * undone theirs, also after they looked: whatever they come to settle, the tool is looked at again.
 */
async function settleLost(
  tx: Transaction,
  { id, token }: Claim,
  { outcome, memberId }: Result,
  now: string,
): Promise<void> {
  const learnt = {
    ...(memberId !== undefined && { memberId }),
    // Whatever was settled meanwhile: this one was put there by us.
    ...(outcome === 'added' && { isOurs: 1 }),
  };
  const kept = await tx
    .updateTable('membership')
    .set((eb) => ({ ...noLease, ...learnt, nextAttemptAt: dueAgain(eb, now) }))
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
