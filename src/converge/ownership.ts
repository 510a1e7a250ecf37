import type { Member } from '../adapters/adapter.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { isSameAddress } from '../lib/text.ts';
import type { GivenAddress } from '../memberships/identity-store.ts';
import type { Claim } from './claim-store.ts';

// Whether a found member and its account are ours (docs/rules.md, Identity). Removing from a group needs the membership
// to be ours, ending or renaming needs the account to be ours. Unknown means not ours. Pure.

type OwnershipClaim = Pick<Claim, 'isOurs' | 'memberId' | 'email' | 'addresses'>;

/**
 * Whose account was found by a known id. Tools reuse ids, for example after a restored backup, so the account is
 * `confirmed` only by a current or former address of the trainer. `other_account`: the tool made it at another time.
 * `in_doubt`: it shows an address that no install named, so it may be the trainer's or another person's.
 * `unverifiable`: it shows neither.
 */
type AccountIdentity = 'confirmed' | 'other_account' | 'in_doubt' | 'unverifiable';

export function judgeAccountId(
  { addresses, madeAt }: Pick<Claim, 'addresses' | 'madeAt'>,
  found: Member,
): AccountIdentity {
  if (found.email !== null && isAmong(addresses, found.email)) return 'confirmed';
  const known = madeAt.get(found.id);
  const isComparable = known !== undefined && found.madeAt !== undefined;
  if (isComparable && known !== found.madeAt) return 'other_account';
  if (found.email !== null) return 'in_doubt';
  return isComparable ? 'confirmed' : 'unverifiable';
}

export function isAmong(addresses: Claim['addresses'], email: string): boolean {
  return addresses.some(({ address }) => isSameAddress(address, email));
}

/** Whether we own the membership: we made it, or its address belongs to a managed domain. */
export function isMembershipOurs(claim: OwnershipClaim, found: Member, managedDomains: readonly string[]): boolean {
  const address = found.email ?? claim.email;
  if (address !== null && managedDomains.includes(domainOf(address))) return true;
  if (claim.isOurs && found.id === claim.memberId) return true;
  return findGivenAddress(claim, found) !== undefined;
}

/** The former addresses under which the trainer may be in because of us: access was given, or the domain is managed. */
export function formerAddresses(
  { addresses, email }: Pick<OwnershipClaim, 'addresses' | 'email'>,
  managedDomains: readonly string[],
): GivenAddress[] {
  return addresses.filter(
    ({ address, givenAt }) => address !== email && (givenAt !== null || managedDomains.includes(domainOf(address))),
  );
}

/** How far the tool's clock may be behind ours. */
const clockMarginMs = 60_000;

/**
 * Whether a call of ours with unknown outcome made the account: no look before the call found it, and it is not older
 * than the call. If the tool does not tell its age, a look must have shown that there was no such account.
 */
export function isAccountMadeByUs(claim: OwnershipClaim, found: Member): boolean {
  const given = findGivenAddress(claim, found);
  if (given?.givenAt == null || given.wasAbsent === false) return false;
  if (found.madeAt === undefined) return given.wasAbsent === true;
  return Date.parse(found.madeAt) >= Date.parse(given.givenAt) - clockMarginMs;
}

/** The address under which we gave this member access that has not ended since. */
function findGivenAddress({ addresses, email }: OwnershipClaim, found: Member): GivenAddress | undefined {
  const shown = found.email ?? email;
  return addresses.find(({ givenAt, address }) => givenAt !== null && isSameAddress(address, shown));
}

/** The creation time of the account as part of a result. */
export function toMadeAt({ madeAt }: Member): { madeAt?: string } {
  return madeAt === undefined ? {} : { madeAt };
}
