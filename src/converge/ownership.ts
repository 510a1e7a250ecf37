import type { Member } from '../adapters/adapter.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { isSameAddress } from '../lib/text.ts';
import type { GivenAddress } from '../memberships/address-store.ts';
import type { Claim } from './claim-store.ts';

/**
 * Who owns a member that was found in a tool (docs/rules.md, Identity). A membership can be removed from a group.
 * An account can be ended or renamed. They are owned separately, and what is unknown is not ours. Pure.
 */

type Known = Pick<Claim, 'isOurs' | 'memberId' | 'email' | 'addresses'>;

/**
 * Whose account was found by a known id. Tools give ids out again, for example after a restored backup, so the account
 * is the trainer's only with a current or former address of the trainer. `other_account`: the tool made it at another
 * time. `in_doubt`: it shows an address that no install named, so it may be the trainer's or another person's.
 * `unverifiable`: it shows nothing to decide by.
 */
export type AccountIdentity = 'confirmed' | 'other_account' | 'in_doubt' | 'unverifiable';

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
export function isMembershipOurs(claim: Known, found: Member, managedDomains: readonly string[]): boolean {
  const address = found.email ?? claim.email;
  if (address !== null && managedDomains.includes(domainOf(address))) return true;
  if (claim.isOurs && found.id === claim.memberId) return true;
  return findGivenAddress(claim, found) !== undefined;
}

/**
 * The addresses, beside the current one, under which the trainer may be in because of us: those that access was given
 * under, and those of managed domains.
 */
export function formerAddresses(
  { addresses, email }: Pick<Known, 'addresses' | 'email'>,
  managedDomains: readonly string[],
): GivenAddress[] {
  return addresses.filter(
    ({ address, givenAt }) => address !== email && (givenAt !== null || managedDomains.includes(domainOf(address))),
  );
}

/** The tool's clock may be behind ours by this much. */
const clockMarginMs = 60_000;

/**
 * Whether a call of ours with unknown outcome made the account: there was no account with its address before, or the
 * tool says that it was made after the call.
 */
export function isAccountMadeByUs(claim: Known, found: Member): boolean {
  const given = findGivenAddress(claim, found);
  if (given?.givenAt == null || given.wasAbsent === false) return false;
  if (found.madeAt === undefined) return given.wasAbsent === true;
  return Date.parse(found.madeAt) >= Date.parse(given.givenAt) - clockMarginMs;
}

/** The address under which we gave this member access that has not ended since. */
function findGivenAddress({ addresses, email }: Known, found: Member): GivenAddress | undefined {
  const shown = found.email ?? email;
  return addresses.find(({ givenAt, address }) => givenAt !== null && isSameAddress(address, shown));
}

/** The creation time of the account as part of a result. */
export function toMadeAt({ madeAt }: Member): { madeAt?: string } {
  return madeAt === undefined ? {} : { madeAt };
}
