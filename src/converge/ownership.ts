import type { Member } from '../adapters/adapter.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { isSameAddress } from '../lib/same-address.ts';
import type { GivenAddress } from '../memberships/address-store.ts';
import type { Claim } from './claim-store.ts';

/**
 * Whose somebody is who was found in a tool (design section 2, *Identity*). A membership and an
 * account are told apart: one is what is taken out of a group, the other what may be ended or renamed.
 * What is not known is not ours. Pure.
 */

type Known = Pick<Claim, 'isOurs' | 'memberId' | 'email' | 'addresses'>;

/**
 * Whose an account is that was found by an id which was somebody's. Tools give ids out again, as after
 * a restored backup, so it is theirs only with an address that they have or had. `another` was made at
 * another time than theirs; `in_doubt` may be theirs under an address that nobody told, or somebody
 * else's; `untold` shows nothing to tell by.
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

/** Whether the membership of who was found is ours: made by us, or of an address only we give out. */
export function isMembershipOurs(claim: Known, found: Member, managedDomains: readonly string[]): boolean {
  const address = found.email ?? claim.email;
  if (address !== null && managedDomains.includes(domainOf(address))) return true;
  if (claim.isOurs && found.id === claim.memberId) return true;
  return findGivenAddress(claim, found) !== undefined;
}

/**
 * The addresses beside the one that a membership is for under which somebody may be in by our doing:
 * let in under them, or of a domain that only we give out.
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
 * Whether a call of ours, the answer to which is not known, made the account that was found: there
 * was none of its address before, or the tool says that it was made after that.
 */
export function isAccountMadeByUs(claim: Known, found: Member): boolean {
  const given = findGivenAddress(claim, found);
  if (given?.givenAt == null || given.wasAbsent === false) return false;
  if (found.madeAt === undefined) return given.wasAbsent === true;
  return Date.parse(found.madeAt) >= Date.parse(given.givenAt) - clockMarginMs;
}

/** The address of theirs under which we let somebody in, and have not seen them out since. */
function findGivenAddress({ addresses, email }: Known, found: Member): GivenAddress | undefined {
  const shown = found.email ?? email;
  return addresses.find(({ givenAt, address }) => givenAt !== null && isSameAddress(address, shown));
}

/** As a part of what was learnt. */
export function toMadeAt({ madeAt }: Member): { madeAt?: string } {
  return madeAt === undefined ? {} : { madeAt };
}
