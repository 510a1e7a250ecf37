import type { Member } from '../adapters/adapter.ts';
import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { addGivenAddress } from './address-store.ts';

/** The SQL of who owns an account of a tool, by the tool's id. */

/** A trainer who may own an account. */
interface Owner {
  tool: string;
  trainerId: string;
}

/**
 * Checks the id, the trainer that the account was made for, and when it was made, because the tool may have reused the
 * id.
 */
export async function isAccountOurs(
  db: Transaction,
  { tool, trainerId }: Owner,
  found: Pick<Member, 'id' | 'madeAt'>,
): Promise<boolean> {
  const account = await db
    .selectFrom('account')
    .select(['isOurs', 'trainerId', 'madeAt'])
    .where((eb) => eb.and({ tool, accountId: found.id }))
    .executeTakeFirst();
  if (account?.isOurs !== true) return false;
  const { trainerId: owner, madeAt } = account;
  if (owner !== null && owner !== trainerId) return false;
  return madeAt === null || found.madeAt === undefined || madeAt === found.madeAt;
}

/** Which of these ids belong to another trainer, or to another current access of the same trainer. */
export async function findKnownMembers(
  db: Transaction,
  { tool, trainerId }: Owner,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await db
    .selectFrom('membership')
    .select('memberId')
    .where('tool', '=', tool)
    .where('memberId', 'in', ids)
    .where((eb) => eb.or([eb('trainerId', '<>', trainerId), eb('state', 'not in', ['removed', 'released'])]))
    .execute();
  return new Set(found.flatMap(({ memberId }) => memberId ?? []));
}

/** Records what was learnt about the owner of an account. An account that is ours stays ours. */
export async function recordAccount(
  tx: Transaction,
  { tool, trainerId }: Owner,
  {
    memberId: accountId,
    isAccountOurs: isOurs,
    madeAt,
  }: { memberId?: string; isAccountOurs?: boolean; madeAt?: string },
  seenAt: string,
): Promise<void> {
  if (accountId === undefined) return;
  if (isOurs === true) {
    const learnt = { isOurs: true, trainerId, madeAt: madeAt ?? null };
    await tx
      .insertInto('account')
      .values({ tool, accountId, seenAt, ...learnt })
      .onConflict((conflict) => conflict.columns(['tool', 'accountId']).doUpdateSet(learnt))
      .execute();
  } else if (madeAt !== undefined) {
    await tx
      .updateTable('account')
      .set({ madeAt })
      .where((eb) => eb.and({ tool, accountId, trainerId }))
      .where('madeAt', 'is', null)
      .execute();
  }
}

/** Moves the account to another trainer, who stays in it. */
export async function bindAccount(
  tx: Transaction,
  { tool, trainerId }: Owner,
  accountId: string | null,
  keeper: string,
): Promise<void> {
  await tx
    .updateTable('account')
    .set({ trainerId: keeper })
    .where((eb) => eb.and({ tool, accountId: accountId ?? '', trainerId }))
    .execute();
}

/** Records that we made the account, whichever trainer it was made for. */
export async function adoptAccount(tx: Transaction, tool: string, accountId: string, seenAt: string): Promise<void> {
  await tx
    .insertInto('account')
    .values({ tool, accountId, isOurs: true, seenAt })
    .onConflict((conflict) => conflict.columns(['tool', 'accountId']).doUpdateSet({ isOurs: true }))
    .execute();
}

/**
 * Records an operator's decision that the account in doubt is the trainer's, under this address. A removal ends it too.
 * An account is in doubt once it shows an address that no source has reported for its trainer.
 *
 * @throws AppError `not_found`, or `conflict` where there is none in doubt
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
 * @throws AppError `conflict` where there is none in doubt
 */
export function releaseDoubted(ctx: Storage, id: number, by: By): Promise<'let_go'> {
  return inTransaction(ctx.database, async (tx) => {
    const { memberId, doubtedId } = await findDoubted(tx, id);
    // A list may have shown it since the last look.
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

/** What waited for the decision is due again now. */
async function settleDoubt(tx: Transaction, id: number, at: string, memberId: string | null): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ doubtedId: null, memberId, nextAttemptAt: at })
    .where('id', '=', id)
    .execute();
}
