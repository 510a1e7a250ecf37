import { type Insertable, sql } from 'kysely';
import type { Member } from '../adapters/adapter.ts';
import type { Transaction } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import { firstIdSince, hasRows } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { credentialContext } from '../db/seal-contexts.ts';
import type { ReceiptOutcome, ToolOperation } from '../domain/membership.ts';
import type { SecretBox } from '../keys/secret-box.ts';

// The SQL of intents, which are committed before each call that changes a tool, and of receipts, which record its
// outcome.

export interface Intent {
  operation: ToolOperation;
  /** What the look before the call found in the group. */
  found: Member | null;
  /** Before an addition: whether the whole tool had no account with the address. Null if unknown. */
  isAccountAbsent?: boolean | null;
  /** The password of the login that the call may make. The next try needs it if the outcome stays unknown. */
  password?: string | null;
}

export async function insertIntent(
  tx: Transaction,
  box: SecretBox,
  { id: membershipId, generation }: Pick<Row<'membership'>, 'id' | 'generation'>,
  { operation, found, password = null }: Intent,
  now: string,
): Promise<void> {
  const context = credentialContext({ membershipId, generation });
  const credential = password === null ? null : box.seal(Buffer.from(password), context);
  const intent = { membershipId, generation, operation, wasFound: found !== null, createdAt: now, credential };
  await insertRow(tx, intent);
}

const insertRow = prepared((db, intent: Insertable<Tables['intent']>) => db.insertInto('intent').values(intent));

/** Forgets generated passwords once the member is in, or removed. */
export async function forgetPasswords(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  const known = tx.updateTable('intent').set({ credential: null }).where('membershipId', 'in', membershipIds);
  await known.where('credential', 'is not', null).execute();
}

export const addReceipt = prepared((db, receipt: Insertable<Tables['receipt']>) =>
  db.insertInto('receipt').values(receipt),
);

/** Whether a look has found the member since the last addition. */
export async function wasSeenSinceAdded(db: Transaction, membershipId: number): Promise<boolean> {
  const seen = db
    .selectFrom('receipt')
    .where('membershipId', '=', membershipId)
    .where('outcome', 'in', ['added', 'invited', 'already_member'])
    .where('generation', '>=', (eb) =>
      eb
        .selectFrom('intent')
        .select(({ fn }) => fn.coalesce(fn.max('intent.generation'), sql<number>`0`).as('generation'))
        .where('intent.membershipId', '=', membershipId)
        .where('intent.operation', '=', 'add'),
    );
  return await hasRows(seen);
}

export async function countReceipts(
  kysely: Transaction,
  since: string,
): Promise<{ tool: string; outcome: ReceiptOutcome; count: number }[]> {
  return await kysely
    .selectFrom('receipt')
    .innerJoin('membership', 'membership.id', 'receipt.membershipId')
    .select(['tool', 'outcome', kysely.fn.countAll<number>().as('count')])
    .where('receipt.id', '>=', await firstIdSince(kysely, 'receipt', 'createdAt', since))
    .where('createdAt', '>=', since)
    .groupBy(['tool', 'outcome'])
    .orderBy('tool')
    .orderBy('outcome')
    .execute();
}

export type MetAfter = Awaited<ReturnType<typeof listMetAfter>>[number];

const mostMeasured = 2000;

/** How long trainers waited for access (`isAccess`) or for its end, the newest 2,000 first. */
export async function listMetAfter(kysely: Transaction, since: string) {
  const rows = await kysely
    .selectFrom('receipt')
    .select(['operation', 'metAfterMs', 'createdAt'])
    .where('id', '>=', await firstIdSince(kysely, 'receipt', 'createdAt', since))
    .where('metAfterMs', 'is not', null)
    .where('createdAt', '>=', since)
    .orderBy('id', 'desc')
    .limit(mostMeasured)
    .execute();
  return rows.map(({ operation, metAfterMs, createdAt }) => ({
    isAccess: operation !== 'remove',
    ms: Number(metAfterMs),
    at: createdAt,
  }));
}

/** Clears messages, which may quote a name. @returns how many */
export async function clearReceiptMessages(tx: Transaction, membershipIds: readonly number[]): Promise<number> {
  const theirs = tx.updateTable('receipt').set({ message: null }).where('membershipId', 'in', membershipIds);
  const { numUpdatedRows } = await theirs.where('message', 'is not', null).executeTakeFirst();
  return Number(numUpdatedRows);
}
