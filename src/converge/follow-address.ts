import type { Adapter, Member, Person } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { isSameAddress } from '../lib/same-address.ts';
import { callTool } from '../tools/call-tool.ts';
import { isAccountKnownAsOurs } from './account-store.ts';
import type { Claim } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import { beginCall, type ConvergeDeps, readUntil, settledAs } from './converge-steps.ts';
import { isAmong } from './ownership.ts';

type FollowRules = Pick<ConvergeDeps, 'managedDomains' | 'mayChangeAccounts'> & {
  adapter: Pick<Adapter, 'updateEmail'>;
};

/**
 * Whether an account should get the trainer's current address: it is known by its id, and it may be changed. A member
 * who is only invited, or shows no address, is left as it is.
 */
export function isToFollow(
  { adapter, managedDomains, mayChangeAccounts }: FollowRules,
  { memberId, isOurs, addresses }: Pick<Claim, 'memberId' | 'isOurs' | 'addresses'>,
  { email }: Pick<Person, 'email'>,
  found: Member,
): boolean {
  if (adapter.updateEmail === undefined || found.isInvited === true) return false;
  if (!isOurs || !mayChangeAccounts()) return false;
  if (found.id !== memberId || found.email === null) return false;
  if (isSameAddress(found.email, email)) return false;
  // No install named this address: a person changed it, or the tool gave the id to another account.
  if (!isAmong(addresses, found.email)) return false;
  if (managedDomains.length === 0) return true;
  // Only managed addresses get access. An account with another address was not made by us, or a person changed it.
  return [found.email, email].every((address) => managedDomains.includes(domainOf(address)));
}

interface Followed {
  person: Person;
  found: Member;
}

/**
 * Gives an account of ours the trainer's current address.
 *
 * @returns `unchanged` if we did not make the account, or if another membership uses it; null if the call must not be
 * made
 */
export async function followAddress(
  deps: ConvergeDeps,
  claim: Claim,
  { person, found }: Followed,
  signal: AbortSignal,
): Promise<ConvergeResult | null | 'unchanged'> {
  const { adapter, timeoutMs } = deps;
  if (!(await isAccountKnownAsOurs(deps, claim, found))) return 'unchanged';
  const begun = await beginCall(deps, claim, { operation: 'update', found });
  if (begun === null) return null;
  if (begun.isOfAnother) return 'unchanged';
  await callTool(timeoutMs, signal, async (callSignal) =>
    adapter.updateEmail?.(claim.groupId, found, person.email, callSignal),
  );
  const readBack = await readUntil(deps, claim, { ...person, memberId: found.id }, signal);
  if (readBack !== null && isSameAddress(readBack.email, person.email)) {
    const learnt = { memberId: readBack.id, isOurs: true, isAccountOurs: true };
    return { operation: 'update', outcome: 'updated', ...learnt, ...settledAs(deps.clock, 'active') };
  }
  const says = 'The tool says it changed the address but shows another';
  throw new AppError('unavailable', says);
}
