import type { Transaction } from '../db/database.ts';

/** The SQL of clearing what memberships keep of a person: what a tool has said of them, and addresses. */

/** Messages, which may quote a name. */
export async function clearFailures(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ failure: null })
    .where('failure', 'is not', null)
    .where('id', 'in', membershipIds)
    .execute();
}

/** Messages, and ids in the tool, which may be addresses. @returns how many memberships had any */
export async function clearToolIds(tx: Transaction, membershipIds: readonly number[]): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('membership')
    .set({ memberId: null, doubtedId: null, failure: null })
    .where('id', 'in', membershipIds)
    .where((eb) =>
      eb.or([eb('memberId', 'is not', null), eb('doubtedId', 'is not', null), eb('failure', 'is not', null)]),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
