import { clearReceiptMessages } from '../converge/receipt-store.ts';
import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import { clearToolIds } from '../memberships/trace-store.ts';

// The only SQL that finds one person and clears what concerns only them.

/** The trainers with this address digest, in one install or in any. */
export async function findPeopleByDigest(ctx: Storage, digest: string, install?: string): Promise<string[]> {
  let query = ctx.database.kysely
    .selectFrom('person')
    .select('trainerId')
    .distinct()
    .where('workEmailDigest', '=', digest);
  if (install !== undefined) query = query.where('install', '=', install);
  const rows = await query.orderBy('trainerId').execute();
  return rows.map(({ trainerId }) => trainerId);
}

/** Whether anything is or was known of a trainer. */
export async function isPersonKnown(ctx: Storage, trainerId: string): Promise<boolean> {
  for (const table of ['participation', 'person', 'membership'] as const) {
    const row = await ctx.database.kysely
      .selectFrom(table)
      .select('trainerId')
      .where('trainerId', '=', trainerId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}

export function peopleOf(tx: Transaction, trainerId: string): Promise<Row<'person'>[]> {
  return tx.selectFrom('person').selectAll().where('trainerId', '=', trainerId).execute();
}

/** Every install that ever named the trainer. */
export async function installsOfPerson(tx: Transaction, trainerId: string): Promise<string[]> {
  const reasons = tx
    .selectFrom('reason')
    .innerJoin('membership', 'membership.id', 'reason.membershipId')
    .select('reason.install')
    .where('trainerId', '=', trainerId);
  const rows = await tx
    .selectFrom('participation')
    .select('install')
    .where('trainerId', '=', trainerId)
    .union(tx.selectFrom('person').select('install').where('trainerId', '=', trainerId))
    .union(tx.selectFrom('membership').select('install').where('trainerId', '=', trainerId))
    .union(reasons)
    .execute();
  return rows.map(({ install }) => install).sort();
}

/** Clears what tools have said of members: their ids in the tool, which may be addresses, and messages. @returns how many rows */
export async function clearToolTraces(tx: Transaction, membershipIds: number[]): Promise<number> {
  if (membershipIds.length === 0) return 0;
  return (await clearToolIds(tx, membershipIds)) + (await clearReceiptMessages(tx, membershipIds));
}
