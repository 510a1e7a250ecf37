import type { Member } from '../adapters/adapter.ts';
import type { Transaction } from '../db/database.ts';

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

/** The account counts as made by us from now on, whatever trainer it was made for. */
export async function adoptAccount(tx: Transaction, tool: string, accountId: string, seenAt: string): Promise<void> {
  await tx
    .insertInto('account')
    .values({ tool, accountId, isOurs: true, seenAt })
    .onConflict((conflict) => conflict.columns(['tool', 'accountId']).doUpdateSet({ isOurs: true }))
    .execute();
}
