import type { Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { isSameAddress } from '../lib/text.ts';
import { mayChange } from '../tools/accounts.ts';
import { isAccountKnownAsOurs } from './account-store.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import { askTool, beginCall, readUntil, settledAs, toolOf } from './converge-steps.ts';
import { isAmong } from './ownership.ts';

/**
 * Whether the account should get the trainer's current address: a member with the known id, another address, and ours.
 */
export function needsCurrentAddress(
  ctx: Context,
  { tool, memberId, isOurs, addresses }: Attempt,
  { email }: Person,
  found: Member,
): boolean {
  if (toolOf(ctx, tool).adapter.updateEmail === undefined || found.isInvited === true) return false;
  if (!isOurs || !mayChange(ctx, tool)) return false;
  if (found.id !== memberId || found.email === null) return false;
  if (isSameAddress(found.email, email)) return false;
  // If no install named this address, a person changed it, or the tool gave the id to another account.
  if (!isAmong(addresses, found.email)) return false;
  const { managedDomains } = ctx.config.marketplace;
  if (managedDomains.length === 0) return true;
  // Only managed addresses get access. Others made an account with another address, or a person changed it.
  return [found.email, email].every((address) => managedDomains.includes(domainOf(address)));
}

/**
 * Gives an account of ours the trainer's current address.
 *
 * @returns `unchanged` if we did not make the account, or if another membership uses it; null if the call must not be
 * made
 */
export async function followAddress(
  ctx: Context,
  claim: Attempt,
  { person, found }: { person: Person; found: Member },
): Promise<ConvergeResult | null | 'unchanged'> {
  if (!(await isAccountKnownAsOurs(ctx, claim, found))) return 'unchanged';
  const begun = await beginCall(ctx, claim, { operation: 'update', found });
  if (begun === null) return null;
  if (begun.isOfAnother) return 'unchanged';
  await askTool(ctx, claim, async (adapter, signal) =>
    adapter.updateEmail?.(claim.groupId, found, person.email, signal),
  );
  const readBack = await readUntil(ctx, claim, { ...person, memberId: found.id });
  if (readBack !== null && isSameAddress(readBack.email, person.email)) {
    const learnt = { memberId: readBack.id, isOurs: true, isAccountOurs: true };
    return { operation: 'update', outcome: 'updated', ...learnt, ...settledAs(ctx.clock, 'active') };
  }
  throw new AppError('unavailable', 'The tool says it changed the address but shows another');
}
