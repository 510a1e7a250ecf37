import type { Storage } from '../../context.ts';
import { jsonIds } from '../../db/query.ts';
import { heldStates } from '../../domain/membership.ts';
import { addressesOfMemberships } from '../../memberships/identity-store.ts';

// The SQL that reads the members of a scope, by their ids in the tool.

type ScopeAccount = Awaited<ReturnType<typeof loadAccounts>>[number];

export interface ScopeMember extends ScopeAccount {
  /** Of every address that the membership is or was for. */
  digests: readonly string[];
  /** Whether other trainers have or had the same account, by a shared address. */
  isShared?: boolean;
}

/** The memberships of these groups that have or had an account, by id. */
export async function loadAccounts(ctx: Storage, tool: string, groupIds: readonly string[]) {
  if (groupIds.length === 0) return [];
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select(['id', 'memberId', 'trainerId', 'install', 'groupId', 'generation', 'wanted', 'state'])
    .where('tool', '=', tool)
    .where('groupId', 'in', groupIds)
    .where('memberId', 'is not', null)
    .orderBy('id')
    .execute();
  return rows.flatMap(({ id, memberId, wanted, state, ...row }) => {
    if (memberId === null) return [];
    // Whether the trainer is wanted in the group, and in.
    const isIn = wanted && (state === 'active' || state === 'invited');
    return [{ ...row, membershipId: id, memberId, isIn }];
  });
}

export async function loadMembers({ database }: Storage, accounts: readonly ScopeAccount[]): Promise<ScopeMember[]> {
  const ids = accounts.map(({ membershipId }) => membershipId);
  const addresses = await database.kysely
    .selectFrom('membershipAddress')
    .select(['membershipId', 'workEmailDigest'])
    .where('membershipId', 'in', jsonIds(database, ids))
    .execute();
  const digests = Map.groupBy(addresses, ({ membershipId }) => membershipId);
  return accounts.map((account) => ({
    ...account,
    digests: (digests.get(account.membershipId) ?? []).map(({ workEmailDigest }) => workEmailDigest),
  }));
}

/**
 * A membership whose account is unknown: the trainer was invited by a link that works for everybody, or a call that may
 * have let them in was not answered. They may already be working.
 */
export type WaitingMembership = Awaited<ReturnType<typeof listWaitingIn>>[number];

export async function listWaitingIn(ctx: Storage, tool: string, groupIds: readonly string[]) {
  if (groupIds.length === 0) return [];
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select(['id', 'tool', 'groupId', 'trainerId', 'memberId', 'wanted'])
    .where('tool', '=', tool)
    .where('groupId', 'in', groupIds)
    .where('state', 'in', heldStates)
    .where((eb) => eb.or([eb('memberId', 'is', null), eb('memberId', 'like', 'invited:%')]))
    .orderBy('id')
    .execute();
  const ids = rows.map(({ id }) => id);
  const known = await addressesOfMemberships(ctx, ctx.database.kysely, ids);
  return rows.flatMap(({ id, wanted, ...row }) => {
    const all = known.get(id) ?? [];
    if (all.every(({ givenAt }) => givenAt === null)) return [];
    // In lower case. A wanted trainer may have come in under their current address.
    const theirs = all.filter((one) => one.givenAt !== null || (wanted && one.isCurrent));
    return [{ ...row, membershipId: id, addresses: theirs.map(({ address }) => address) }];
  });
}
