import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { oncePerSize } from '../db/once-per-size.ts';
import type { Row } from '../db/schema.ts';
import { digestOf } from './body-key.ts';
import { bytesOf, createCountStored, sumByInstall } from './storage-store.ts';

/**
 * The statements that store deliveries, once each, inside one transaction. They are built once for each
 * number of rows, because building a statement costs several times what running it costs.
 */
export interface AppendStatements {
  /**
   * @param rows distinct, and in the same order in every instance
   * @returns the keys of the deliveries that are new
   */
  insertNew(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>>;
}

export type AppendedRow = Pick<Row<'delivery'>, (typeof columns)[number]>;

const columns = [
  'install',
  'bodySha256',
  'deliveryId',
  'eventType',
  'subjectId',
  'receivedAt',
  'state',
  'nextAttemptAt',
  'failure',
  'readerVersion',
  'headers',
  'traceContext',
  'body',
] as const;

export function createAppendStatements(kysely: Transaction): AppendStatements {
  const insert = oncePerSize((size) =>
    kysely
      .insertInto('delivery')
      .values(new Array(size).fill(anyRow))
      .onConflict((conflict) => conflict.columns(['install', 'bodySha256']).doNothing())
      .returning('id')
      .compile(),
  );
  const findKeys = oncePerSize((size) =>
    kysely
      .selectFrom('delivery')
      .select(keyColumns)
      .where((eb) => eb.or(new Array(size).fill(eb.and({ install: '', bodySha256: Buffer.alloc(0) }))))
      .compile(),
  );
  const countStored = createCountStored(kysely);

  /** Those that an older version has stored, by the digest alone. */
  async function findOlder(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
    if (!(await hasOlder(tx))) return new Set();
    const parameters = rows.flatMap(({ install, bodySha256 }) => [install, digestOf(bodySha256)]);
    const found = await tx.executeQuery<RowKey>({ ...findKeys(rows.length), parameters });
    return toKeys(found.rows);
  }

  async function insertAll(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
    if (rows.length === 0) return new Set();
    const parameters = rows.flatMap((row) => columns.map((column) => row[column]));
    const { rows: inserted } = await tx.executeQuery<RowId>({ ...insert(rows.length), parameters });
    // Nearly always all are new, and reading ids costs less than reading keys.
    return toKeys(inserted.length === rows.length ? rows : await findInserted(tx, inserted));
  }

  return {
    async insertNew(tx, rows) {
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
    },
  };
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

/** A placeholder row for building a statement. Each value must become a parameter. */
const anyRow: AppendedRow = {
  install: '',
  bodySha256: Buffer.alloc(0),
  deliveryId: '',
  eventType: '',
  subjectId: '',
  receivedAt: '',
  state: 'pending',
  nextAttemptAt: '',
  failure: '',
  readerVersion: 0,
  headers: '',
  traceContext: '',
  body: Buffer.alloc(0),
};

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
