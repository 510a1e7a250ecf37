import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
import { retractRemovals } from './clearance-store.ts';
import { addGivenAddress, adoptAccount, endGivenAddresses } from './identity-store.ts';

// The SQL of an operator's decision about who manages a member: Gangway adopts the member, or releases it.

/**
 * Makes the membership ours, so that the member is removed like any other: at once if no reason for it stands.
 *
 * @param withAccount makes the account ours too, so that it may be ended or changed
 * @throws AppError `not_found`, or `conflict` if there is no member to adopt
 */
export function adoptMember(ctx: Storage, id: number, by: By, withAccount = false): Promise<'kept' | 'removing'> {
  return inTransaction(ctx.database, async (tx) => {
    const membership = await lockMembership(ctx.database, tx, id);
    refuseAdopting(membership, withAccount);
    const { tool, memberId } = membership;
    if (withAccount && memberId !== null) await adoptAccount(tx, tool, memberId, by.at);
    const next = membership.wanted ? {} : toRemoval(membership, by.at);
    await changeMembership(tx, membership, by.at, { isOurs: true, releasedBy: null, ...next });
    await writeAudit(tx, by, withAccount ? 'members adopt --account' : 'members adopt', `membership ${id}`);
    return membership.wanted ? 'kept' : 'removing';
  });
}

/**
 * Makes the membership not ours, so that the member stays when every reason has ended.
 *
 * @param managedDomains accounts with an address of these domains are always ours
 * @throws AppError `not_found`, or `conflict` if there is no member to release or an account is in doubt
 */
export function releaseMember(
  ctx: Storage,
  id: number,
  managedDomains: readonly string[],
  by: By,
): Promise<'released'> {
  return inTransaction(ctx.database, async (tx) => {
    const membership = await lockMembership(ctx.database, tx, id);
    await refuseReleasing(tx, membership, managedDomains);
    const { wanted } = membership;
    // The brake must not count a removal that it cleared and that was not executed.
    if (!wanted) await retractRemovals(tx, [id]);
    await endGivenAddresses(tx, id, by.at);
    await changeMembership(tx, membership, by.at, { isOurs: false, releasedBy: 'operator', ...(!wanted && letGo) });
    await writeAudit(tx, by, 'members release', `membership ${id}`);
    return 'released' as const;
  });
}

/** Locks the row until the transaction ends. */
export async function lockMembership(database: Database, tx: Transaction, id: number): Promise<Row<'membership'>> {
  const rows = tx.selectFrom('membership').selectAll().where('id', '=', id);
  const one = await lockRows(database, rows).executeTakeFirst();
  if (one === undefined) throw new AppError('not_found', `There is no membership ${id}`);
  return one;
}

/** Starts a new generation, so that a running call does not settle the membership. */
export async function changeMembership(
  tx: Transaction,
  { id, generation }: Row<'membership'>,
  at: string,
  values: Partial<Row<'membership'>>,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ ...values, generation: generation + 1, updatedAt: at })
    .where('id', '=', id)
    .execute();
}

function refuseAdopting(membership: Row<'membership'>, withAccount: boolean): void {
  const { id, tool, state, wanted, isOurs } = membership;
  refuseAbsent(membership);
  if (state === 'released' && wanted) {
    throw new AppError(
      'conflict',
      `The account of membership ${id} is protected. Remove it from tools.${tool}.protected first`,
    );
  }
  if (isOurs && !withAccount) {
    throw new AppError('conflict', `Gangway already manages membership ${id}`);
  }
}

/** How an operator resolves the doubt. */
export function adviseOnDoubt(membership: number): string {
  return `gangway members adopt ${membership} --address <the address it shows> if it is the trainer's, or gangway members release ${membership} --doubted if it is another person's`;
}

async function refuseReleasing(
  tx: Transaction,
  membership: Row<'membership'>,
  managedDomains: readonly string[],
): Promise<void> {
  const { id, tool, trainerId, state, isOurs, releasedBy, doubtedId } = membership;
  if (doubtedId !== null) {
    throw new AppError('conflict', `The account of membership ${id} is in doubt. First run ${adviseOnDoubt(id)}`);
  }
  refuseAbsent(membership);
  if (!isOurs && releasedBy !== null) {
    throw new AppError('conflict', `Gangway does not manage membership ${id}, so there is nothing to release`);
  }
  if (managedDomains.length === 0 || state === 'released') return;
  const managed = await tx
    .selectFrom('person')
    .select('workEmailDomain')
    .where('trainerId', '=', trainerId)
    .where('workEmailDomain', 'in', managedDomains)
    .executeTakeFirst();
  if (managed === undefined) return;
  throw new AppError(
    'conflict',
    `Membership ${id} has an email at ${managed.workEmailDomain}, and Gangway manages all such accounts (marketplace.managedDomains). To keep the account, add it to tools.${tool}.protected`,
  );
}

function refuseAbsent({ id, state, memberId }: Row<'membership'>): void {
  const isOut = state === 'waiting_email' || state === 'removed';
  const isUnknown = (state === 'pending' || state === 'failed') && memberId === null;
  if (!isOut && !isUnknown) return;
  throw new AppError('conflict', `Membership ${id} is ${state}, and no member of it is known in the tool`);
}

export const letGo = {
  state: 'released',
  unmetSince: null,
  cause: null,
  removeAfter: null,
  nextAttemptAt: null,
  attempts: 0,
  failure: null,
} as const satisfies Partial<Row<'membership'>>;

export function toRetirement(at: string) {
  return {
    ...letGo,
    state: 'removing',
    cause: 'retired',
    removeAfter: at,
    unmetSince: at,
  } satisfies Partial<Row<'membership'>>;
}

/** The brake decides again about a removal that it cleared while the membership was not ours. */
function toRemoval({ state, cause, removeAfter }: Row<'membership'>, at: string) {
  if (state === 'released' || cause === null) return toRetirement(at);
  return { ...toRetirement(at), cause, removeAfter: removeAfter ?? at };
}

/**
 * Records an operator's decision that the account in doubt is the trainer's, under this address. A removal then removes
 * this account too. An account is in doubt once it shows an address that no source has reported for its trainer.
 *
 * @throws AppError `conflict` if the membership has no account in doubt
 */
export function adoptDoubted(ctx: Storage, id: number, address: string, by: By): Promise<void> {
  return inTransaction(ctx.database, async (tx) => {
    const { install, trainerId, memberId, doubtedId } = await findDoubted(tx, id);
    await addGivenAddress(tx, ctx.box, { membershipId: id, install, trainerId, address }, by.at);
    await settleDoubt(tx, id, by.at, memberId ?? doubtedId);
    await writeAudit(tx, by, 'members adopt --address', `membership ${id}`);
  });
}

/**
 * Records an operator's decision that the account in doubt belongs to another person.
 *
 * @throws AppError `conflict` if the membership has no account in doubt
 */
export function releaseDoubted(ctx: Storage, id: number, by: By): Promise<'let_go'> {
  return inTransaction(ctx.database, async (tx) => {
    const { memberId, doubtedId } = await findDoubted(tx, id);
    // After the last look, a list may have shown the member under this account.
    await settleDoubt(tx, id, by.at, memberId === doubtedId ? null : memberId);
    await writeAudit(tx, by, 'members release', `the account in doubt of membership ${id}`);
    return 'let_go' as const;
  });
}

async function findDoubted(tx: Transaction, id: number) {
  const doubted = await tx
    .selectFrom('membership')
    .select(['install', 'trainerId', 'memberId', 'doubtedId'])
    .where('id', '=', id)
    .where('doubtedId', 'is not', null)
    .executeTakeFirst();
  if (doubted !== undefined) return doubted;
  throw new AppError('conflict', `Membership ${id} has no account in doubt`);
}

/** Retries now what waited for the decision. */
async function settleDoubt(tx: Transaction, id: number, at: string, memberId: string | null): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ doubtedId: null, memberId, nextAttemptAt: at })
    .where('id', '=', id)
    .execute();
}
