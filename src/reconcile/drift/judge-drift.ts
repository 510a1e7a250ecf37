import type { MembershipState, ReceiptOutcome } from '../../domain/membership.ts';

/** Compares the members that a tool lists with the memberships that are known. Pure. In doubt it leaves people alone. */

/** A listed account, with what is needed to tell whose it is. */
export interface ListedAccount {
  id: string;
  /** The digest of its address. Empty if the tool does not show the address. */
  digests: readonly string[];
  /** Whether its address belongs to a managed domain, in which only the marketplace gives out addresses. */
  isManaged: boolean;
  isProtected: boolean;
}

export interface ComparedMembership {
  id: number;
  wanted: boolean;
  state: MembershipState;
  memberId: string | null;
  /** The digests of every address that the trainer has or had. */
  addresses: readonly string[];
  /** Those of them under which Gangway gave access. */
  given: readonly string[];
  /** The digest of the current address. */
  address: string | null;
  /** Those of `given` under which the access may still exist. */
  open: readonly string[];
  /** Whether it needs one more look, because no call can arrive any more. */
  isToConfirm: boolean;
  /** The outcome of the last conclusive call or look that found a member. A removal without an answer counts as one. */
  lastOutcome: ReceiptOutcome | null;
  /** Whether a call may have been made since the listing began. Then the listing says nothing about it. */
  wasCalled: boolean;
  updatedAt: string;
}

export type DriftVerdict =
  /** Wanted and not listed. A look follows, and an add if the look does not find the trainer. */
  | { kind: 'missing'; membershipId: number }
  /** Listed by the address, but with another id than the known one. A look follows, which learns the new id. */
  | { kind: 'id_changed'; membershipId: number }
  /** Removed by Gangway, still without a reason, and listed again. */
  | { kind: 'found_again'; membershipId: number; memberId: string }
  /** The account has another address than the registers; not `isKnown`: an address that was never theirs. */
  | { kind: 'address_changed'; membershipId: number; address: string; isKnown: boolean }
  /** An account that belongs to no known trainer. */
  | { kind: 'stranger'; memberId: string }
  /** A stranger with an address of a managed domain. */
  | { kind: 'leak'; memberId: string };

/** A verdict for each member that is not as it should be. */
export function judgeDrift(known: readonly ComparedMembership[], listed: readonly ListedAccount[]): DriftVerdict[] {
  const find = createFinder(known);
  const present = new Set<ComparedMembership>();
  const moved = new Set<ComparedMembership>();
  const verdicts = listed.flatMap((account) => {
    const { owners, strays } = find(account);
    for (const owner of owners) (isKnownBy(owner, account) ? present : moved).add(owner);
    const stray = owners.every(({ state }) => state === 'removed') ? judgeStray(strays) : null;
    if (stray !== null) present.add(stray.membership);
    if (account.isProtected) return [];
    return stray?.verdict ?? judgeAccount(account, owners) ?? [];
  });
  const unseen = known.filter((membership) => isSettledIn(membership) && !present.has(membership));
  return [
    ...withoutDoubts(verdicts, listed),
    ...unseen
      .sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1))
      .map((one): DriftVerdict => {
        return { kind: moved.has(one) ? 'id_changed' : 'missing', membershipId: one.id };
      }),
  ];
}

/**
 * What a listing says about the memberships that need one more look. `stillIn` are listed although
 * they count as removed, by an address or by the tool's id alone; a look follows, and a removal if it
 * finds them. The others are `confirmed`.
 */
export function judgeUnconfirmed(
  known: readonly ComparedMembership[],
  listed: readonly ListedAccount[],
): { stillIn: number[]; confirmed: number[] } {
  const find = createFinder(known);
  const present = new Set(listed.map(find).flatMap(({ owners, strays }) => [...owners, ...strays]));
  const toConfirm = known.filter(({ isToConfirm, wasCalled }) => isToConfirm && !wasCalled);
  const stillIn = toConfirm.filter((one) => isSeenOut(one) && present.has(one));
  const confirmed = toConfirm.filter((one) => !stillIn.includes(one));
  return { stillIn: stillIn.map(({ id }) => id), confirmed: confirmed.map(({ id }) => id) };
}

/** Whether only looks say that the trainer is out. */
function isSeenOut({ isToConfirm, wanted, state }: ComparedMembership): boolean {
  return isToConfirm && !wanted && state === 'removed';
}

/**
 * Finds the memberships that an account may belong to: `owners` by an address, or by the tool's id. Tools reuse ids, so
 * a membership with the id and none of the addresses is a stray.
 */
function createFinder(known: readonly ComparedMembership[]) {
  const byId = Map.groupBy(known, ({ memberId }) => memberId);
  const byAddress = Map.groupBy(
    known.flatMap((membership) => membership.addresses.map((digest) => ({ digest, membership }))),
    ({ digest }) => digest,
  );
  return ({ id, digests }: ListedAccount) => {
    const named = digests.flatMap((digest) => byAddress.get(digest) ?? []);
    const [owners, strays] = [new Set<ComparedMembership>(), new Set<ComparedMembership>()];
    for (const one of byId.get(id) ?? []) {
      const isTheirs = digests.length === 0 || isOneOf(one.addresses, digests);
      (isTheirs ? owners : strays).add(one);
    }
    for (const { membership } of named) owners.add(membership);
    return { owners: [...owners], strays: [...strays] };
  };
}

/** The account was renamed, or its id was reused. Until a look tells which, the member is not missing. */
function judgeStray(strays: ComparedMembership[]) {
  const [membership, ...others] = strays.filter(isSettledIn);
  if (membership?.address == null || others.length > 0) return null;
  const { id: membershipId, address } = membership;
  const verdict: DriftVerdict = { kind: 'address_changed', membershipId, address, isKnown: false };
  return { membership, verdict };
}

/** An account with another id than the known one needs a look, which learns the new id. */
function isKnownBy({ memberId }: ComparedMembership, { id }: ListedAccount): boolean {
  return memberId === null || memberId === id || memberId.startsWith('invited:');
}

function isSettledIn({ wanted, state, wasCalled }: ComparedMembership): boolean {
  return wanted && (state === 'active' || state === 'invited') && !wasCalled;
}

function judgeAccount(account: ListedAccount, owners: ComparedMembership[]): DriftVerdict | null {
  if (owners.some(({ wasCalled }) => wasCalled)) return null;
  if (owners.some(isSeenOut)) return null;
  const kept = owners.filter(({ state }) => state !== 'removed');
  if (kept.length > 0) return judgeAddress(account, kept);
  const [gone, ...others] = owners;
  const isAlone = gone !== undefined && others.length === 0;
  return isAlone && isToGoAgain(account, gone)
    ? { kind: 'found_again', membershipId: gone.id, memberId: account.id }
    : toUnknown(account);
}

function toUnknown({ id, isManaged }: ListedAccount): DriftVerdict {
  return { kind: isManaged ? 'leak' : 'stranger', memberId: id };
}

/**
 * Whether Gangway may remove the account again. It must be certain who it is, and one of these must hold: Gangway
 * removed the trainer last; or a late call of Gangway let the trainer in and no look has seen that yet; or the address
 * is managed. Tools reuse ids, so an address decides if there is one.
 */
function isToGoAgain({ id, digests, isManaged }: ListedAccount, gone: ComparedMembership): boolean {
  // Without an address a look could not find the trainer.
  if (gone.wanted || gone.given.length === 0) return false;
  const isLate = gone.memberId === null && isOneOf(gone.open, digests);
  if (gone.lastOutcome !== 'removed' && !isManaged && !isLate) return false;
  return digests.length === 0 ? gone.memberId === id : isOneOf(gone.given, digests);
}

/** The account has the known id, so only its address can have changed. */
function judgeAddress({ id, digests }: ListedAccount, kept: ComparedMembership[]): DriftVerdict | null {
  const [owner, ...others] = kept;
  if (owner === undefined || others.length > 0 || !isSettledIn(owner)) return null;
  const { address, memberId } = owner;
  if (memberId !== id || address === null || digests.length === 0) return null;
  return digests.includes(address) ? null : { kind: 'address_changed', membershipId: owner.id, address, isKnown: true };
}

/** If two accounts match one removed trainer, it is unknown which one was removed, so neither is. */
function withoutDoubts(verdicts: DriftVerdict[], listed: readonly ListedAccount[]): DriftVerdict[] {
  const returned = Map.groupBy(verdicts, (verdict) => (verdict.kind === 'found_again' ? verdict.membershipId : null));
  const accounts = new Map(listed.map((account) => [account.id, account]));
  return verdicts.map((verdict) => {
    if (verdict.kind !== 'found_again') return verdict;
    if (returned.get(verdict.membershipId)?.length === 1) return verdict;
    const account = accounts.get(verdict.memberId);
    return account === undefined ? verdict : toUnknown(account);
  });
}

function isOneOf(some: readonly string[], others: readonly string[]): boolean {
  return others.some((other) => some.includes(other));
}

/** One time that the trainer was found in the group or added to it, in the current generation. */
export interface Arrival {
  outcome: ReceiptOutcome;
  at: string;
}

export interface AddBack {
  /** Whether a look is due now, which adds the trainer if they are missing. */
  isDue: boolean;
  /** How often Gangway added them back in the last 24 hours. */
  timesAddedBack: number;
}

const vanishingWindowMs = 24 * 3_600_000;
const vanishingRetryMs = 3_600_000;

/**
 * A missing trainer is added back at once; if that happened already in the last 24 hours, once an
 * hour, because Gangway must not fight with whatever keeps removing them.
 *
 * @param arrivals oldest first; the first is how the trainer came in
 */
export function judgeAddBack(arrivals: readonly Arrival[], now: Date): AddBack {
  const since = new Date(now.getTime() - vanishingWindowMs).toISOString();
  const recent = arrivals.slice(1).filter(({ outcome, at }) => outcome !== 'already_member' && at > since);
  const last = recent.at(-1);
  const isDue = last === undefined || now.getTime() - Date.parse(last.at) >= vanishingRetryMs;
  return { isDue, timesAddedBack: recent.length };
}
