import type { Adapter, Member } from '../../adapters/adapter.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { readGroup } from '../../tools/read-group.ts';
import type { Arrived, WaitingMembership, WaitingStore } from './waiting-store.ts';

export interface ResolveDeps {
  waiting: WaitingStore;
  adapters: ReadonlyMap<string, Adapter>;
  clock: Clock;
}

const listing = { timeoutMs: 60_000, maxMembers: 50_000 };

/**
 * Finds the accounts of trainers who were let in and whose account is not known yet, before their work is read.
 * Without the account's id their work would belong to no trainer. One list of a group serves all of them.
 *
 * @throws AppError where the list cannot be read; then the work cannot be read either
 */
export async function resolveWaiting(
  { waiting, adapters, clock }: ResolveDeps,
  { tool, groupIds }: { tool: string; groupIds: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const adapter = adapters.get(tool);
  if (adapter?.listMembers === undefined) return;
  const list = adapter.listMembers.bind(adapter);
  const byGroup = Map.groupBy(await waiting.waitingIn(tool, groupIds), ({ groupId }) => groupId);
  for (const [groupId, ofGroup] of byGroup) {
    const listed = await readGroup(list, groupId, listing, signal);
    await waiting.settleArrived(matchArrived(ofGroup, listed), toInstant(clock.now()));
  }
}

/** Matches by address. Leaves out an account of two trainers, and a trainer with two accounts. Pure. */
export function matchArrived(waiting: readonly WaitingMembership[], listed: readonly Member[]): Arrived[] {
  const accounts = Map.groupBy(
    listed.filter(({ isInvited }) => isInvited !== true),
    ({ email }) => email?.toLowerCase(),
  );
  const found = waiting.flatMap((one) => {
    const [account, ...others] = one.addresses.flatMap((address) => accounts.get(address) ?? []);
    const isOne = account !== undefined && others.every(({ id }) => id === account.id);
    return isOne ? [{ waiting: one, accountId: account.id }] : [];
  });
  const owners = Map.groupBy(found, ({ accountId }) => accountId);
  return found.filter(({ waiting: { trainerId }, accountId }) =>
    owners.get(accountId)?.every((one) => one.waiting.trainerId === trainerId),
  );
}
