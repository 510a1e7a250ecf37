import type { MembershipState, ReceiptOutcome } from '../../domain/membership.ts';

/** What a tool lists compared with what is known: pure, and on the side of leaving people alone. */

/** An account in a group, as far as it has to be known to tell whose it is. */
export interface ListedAccount {
  id: string;
  /** Of its address, under every key; none where the tool does not tell it. */
  digests: readonly string[];
  /** Whether its address is of a domain that only we give out. */
  isManaged: boolean;
  isProtected: boolean;
}

export interface ComparedMembership {
  id: number;
  wanted: boolean;
  state: MembershipState;
  memberId: string | null;
  /** Digests of every address that it is, or was, for. */
  addresses: readonly string[];
  /** Those of them under which somebody was let in by us. */
  given: readonly string[];
  /** The digest of the address that it is for now. */
  address: string | null;
  /** Those of these under which they may be in by now. */
  open: readonly string[];
  /** Whether it is to be seen once more, now that no call can arrive any more. */
  isToConfirm: boolean;
  /** How the last call or look ended that was conclusive and found somebody. */
  lastOutcome: ReceiptOutcome | null;
  /** Whether a call may have been made for it since the listing began: then nothing is known. */
  wasCalled: boolean;
  updatedAt: string;
}

export type DriftVerdict =
  /** Wanted, and not listed: to be looked at again, and added where the look finds nobody. */
  | { kind: 'missing'; membershipId: number }
  /** In by their address, and not by the id that is known: to be looked at, so that it is learnt. */
  | { kind: 'id_changed'; membershipId: number }
  /** Removed by us, without a reason since, and listed again. */
  | { kind: 'found_again'; membershipId: number; memberId: string }
  /** In under another address than the registers have by now; or their id is, under one nobody told. */
  | { kind: 'address_changed'; membershipId: number; address: string; isKnown: boolean }
  /** Nobody of ours. */
  | { kind: 'stranger'; memberId: string }
  /** Nobody of ours with an address that only we give out. */
  | { kind: 'leak'; memberId: string };

/** What every member of a group comes to; those who are as they should be come to nothing. */
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
 * What a listing says of those who are to be seen once more. Whoever is listed and is to be out is
 * looked at, and taken out where the look finds them; whoever is missing is looked at anyway.
 */
export function judgeUnconfirmed(
  known: readonly ComparedMembership[],
  listed: readonly ListedAccount[],
): { stillIn: number[]; confirmed: number[] } {
  const find = createFinder(known);
  const present = new Set(listed.flatMap((account) => find(account).owners));
  const toConfirm = known.filter(({ isToConfirm, wasCalled }) => isToConfirm && !wasCalled);
  const stillIn = toConfirm.filter((one) => isSeenOut(one) && present.has(one));
  const confirmed = toConfirm.filter((one) => !stillIn.includes(one));
  return { stillIn: stillIn.map(({ id }) => id), confirmed: confirmed.map(({ id }) => id) };
}

/** Whether it counts as out by looks alone. */
function isSeenOut({ isToConfirm, wanted, state }: ComparedMembership): boolean {
  return isToConfirm && !wanted && state === 'removed';
}

/**
 * By an address, or by the tool's own id: whoever might be meant. Tools give ids out again: who has
 * the id and none of the addresses is a stray.
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

/** Renamed in the tool, or given out again: a look tells, and until then nobody is missing. */
function judgeStray(strays: ComparedMembership[]) {
  const [membership, ...others] = strays.filter(isSettledIn);
  if (membership?.address == null || others.length > 0) return null;
  const { id: membershipId, address } = membership;
  const verdict: DriftVerdict = { kind: 'address_changed', membershipId, address, isKnown: false };
  return { membership, verdict };
}

/** Who has another id by now than is known is looked at, so that the new one is learnt. */
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
 * Only who is beyond confusion, and only where what ended last was our own removal, or nobody has seen
 * them yet whom a call of ours let in, or none but we give out such an address. Ids may be given out
 * again: where there is an address it decides.
 */
function isToGoAgain({ id, digests, isManaged }: ListedAccount, gone: ComparedMembership): boolean {
  // Without an address of theirs nobody could look for them.
  if (gone.wanted || gone.given.length === 0) return false;
  const isLate = gone.memberId === null && isOneOf(gone.open, digests);
  if (gone.lastOutcome !== 'removed' && !isManaged && !isLate) return false;
  return digests.length === 0 ? gone.memberId === id : isOneOf(gone.given, digests);
}

/** The account is known by its id, so that nothing but its address can have changed. */
function judgeAddress({ id, digests }: ListedAccount, kept: ComparedMembership[]): DriftVerdict | null {
  const [owner, ...others] = kept;
  if (owner === undefined || others.length > 0 || !isSettledIn(owner)) return null;
  const { address, memberId } = owner;
  if (memberId !== id || address === null || digests.length === 0) return null;
  return digests.includes(address) ? null : { kind: 'address_changed', membershipId: owner.id, address, isKnown: true };
}

/** One person with two accounts: which of them we removed, nobody can tell. */
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

/** One time that somebody was found in a group or put there, under what is wanted now. */
export interface Arrival {
  outcome: ReceiptOutcome;
  at: string;
}

export interface AddBack {
  /** Whether they are to be looked at now, and added if they are missing. */
  isDue: boolean;
  /** How often we put them back in the last 24 hours. */
  timesAddedBack: number;
}

const vanishingWindowMs = 24 * 3_600_000;
const vanishingRetryMs = 3_600_000;

/**
 * Who is missing is put back at once; who was put back already in the last 24 hours, once an hour:
 * another hand takes them out, and the two are not to fight.
 *
 * @param arrivals the oldest first: the first is how they came in
 */
export function judgeAddBack(arrivals: readonly Arrival[], now: Date): AddBack {
  const since = new Date(now.getTime() - vanishingWindowMs).toISOString();
  const recent = arrivals.slice(1).filter(({ outcome, at }) => outcome !== 'already_member' && at > since);
  const last = recent.at(-1);
  const isDue = last === undefined || now.getTime() - Date.parse(last.at) >= vanishingRetryMs;
  return { isDue, timesAddedBack: recent.length };
}
