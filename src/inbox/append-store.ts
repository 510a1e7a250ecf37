import type { Transaction } from '../db/database.ts';
import { oncePerSize } from '../db/once-per-size.ts';
import type { DeliveryRow } from '../db/tables.ts';
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

export type AppendedRow = Pick<DeliveryRow, (typeof columns)[number]>;

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
  const countStored = createCountStored(kysely);

  async function insertAll(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
    const parameters = rows.flatMap((row) => columns.map((column) => row[column]));
    const { rows: inserted } = await tx.executeQuery<RowId>({ ...insert(rows.length), parameters });
    // Nearly always all are new, and reading ids costs less than reading keys.
    return toKeys(inserted.length === rows.length ? rows : await findInserted(tx, inserted));
  }

  return {
    async insertNew(tx, rows) {
      if (rows.length === 0) return new Set();
      const keys = await insertAll(tx, rows);
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

type RowKey = Pick<DeliveryRow, (typeof keyColumns)[number]>;
type RowId = Pick<DeliveryRow, 'id'>;

function toKeys(rows: RowKey[]): Set<string> {
  return new Set(rows.map(({ install, bodySha256 }) => deliveryKeyOf(install, bodySha256)));
}

async function findInserted(tx: Transaction, inserted: RowId[]): Promise<RowKey[]> {
  const ids = inserted.map(({ id }) => id);
  return ids.length === 0 ? [] : await tx.selectFrom('delivery').select(keyColumns).where('id', 'in', ids).execute();
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
    .where((eb) => eb.or(known.map(({ install, bodySha256 }) => eb.and({ install, bodySha256 }))))
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
