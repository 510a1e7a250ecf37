import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { digestOf } from './body-key.ts';
import { bytesOf, countStored, sumByInstall } from './storage-store.ts';

export type AppendedRow = Pick<
  Row<'delivery'>,
  | 'install'
  | 'bodySha256'
  | 'deliveryId'
  | 'eventType'
  | 'subjectId'
  | 'receivedAt'
  | 'state'
  | 'nextAttemptAt'
  | 'failure'
  | 'readerVersion'
  | 'headers'
  | 'traceContext'
  | 'body'
>;

/**
 * Stores deliveries, inside one transaction.
 *
 * @param rows distinct, and in the same order in every instance
 * @returns the keys of the deliveries that are new
 */
export async function insertNew(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const older = await findOlder(tx, rows);
  const isOlder = (row: AppendedRow) => older.has(deliveryKeyOf(row.install, digestOf(row.bodySha256)));
  const keys = await insertAll(tx, older.size === 0 ? rows : rows.filter((row) => !isOlder(row)));
  if (keys.size < rows.length) await retakeFailed(tx, rows, keys);
  const isNew = (row: AppendedRow) => keys.has(deliveryKeyOf(row.install, row.bodySha256));
  const added = keys.size === rows.length ? rows : rows.filter(isNew);
  const sizes = added.map((row) => ({ install: row.install, bytes: bytesOf(row) }));
  await countStored(tx, sumByInstall(sizes));
  return keys;
}

/** Those that an older version has stored, by the digest alone. */
async function findOlder(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
  if (!(await hasOlder(tx))) return new Set();
  const keys = rows.map(({ install, bodySha256 }) => ({ install, bodySha256: digestOf(bodySha256) }));
  const found = await tx
    .selectFrom('delivery')
    .select(keyColumns)
    .where((eb) => eb.or(keys.map((key) => eb.and(key))))
    .execute();
  return toKeys(found);
}

async function insertAll(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const inserted = await tx
    .insertInto('delivery')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['install', 'bodySha256']).doNothing())
    .returning('id')
    .execute();
  // Nearly always all are new, and reading ids costs less than reading keys.
  return toKeys(inserted.length === rows.length ? rows : await findInserted(tx, inserted));
}

const keyColumns = ['install', 'bodySha256'] as const;

type RowKey = Pick<Row<'delivery'>, (typeof keyColumns)[number]>;
type RowId = Pick<Row<'delivery'>, 'id'>;

function toKeys(rows: RowKey[]): Set<string> {
  return new Set(rows.map(({ install, bodySha256 }) => deliveryKeyOf(install, bodySha256)));
}

async function findInserted(tx: Transaction, inserted: RowId[]): Promise<RowKey[]> {
  const ids = inserted.map(({ id }) => id);
  return ids.length === 0 ? [] : await tx.selectFrom('delivery').select(keyColumns).where('id', 'in', ids).execute();
}

/** Whether there still is a delivery from before keys began with a time. */
async function hasOlder(tx: Transaction): Promise<boolean> {
  const { rows } = await sql`select id from delivery where id <=
    (select cast(value as bigint) from setting where name = 'last_digest_key') limit 1`.execute(tx);
  return rows.length > 0;
}

/** A sender repeats what it takes for failed. If it did fail here, it is handled again. */
async function retakeFailed(tx: Transaction, rows: AppendedRow[], newKeys: Set<string>): Promise<void> {
  const known = rows.filter((row) => !newKeys.has(deliveryKeyOf(row.install, row.bodySha256)));
  await tx
    .updateTable('delivery')
    .set((eb) => ({ ...pendingAgain(known[0]?.receivedAt ?? ''), failure: eb.ref('failure') }))
    .where('state', '=', 'failed')
    .where((eb) =>
      eb.or(
        known.map(({ install, bodySha256 }) =>
          eb.and([eb('install', '=', install), eb('bodySha256', 'in', [bodySha256, digestOf(bodySha256)])]),
        ),
      ),
    )
    .execute();
}

/** The values that make a delivery as if it had just come in. */
export function pendingAgain(now: string) {
  return { state: 'pending', attempts: 0, nextAttemptAt: now, failure: null } as const;
}

/** Install and key of the body as text. */
export function deliveryKeyOf(install: string, bodyKey: Buffer): string {
  return `${install}/${bodyKey.toString('hex')}`;
}
