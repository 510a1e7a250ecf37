import type { Transaction } from '../db/database.ts';
import type { DeliveryRow } from '../db/tables.ts';
import { oncePerSize } from './once-per-size-store.ts';
import { bytesOf, createCountStored, sumByInstall } from './storage-store.ts';

/**
 * The statements that store deliveries, once each, inside one transaction. They are built once for each
 * number of rows, because building a statement costs several times what running it costs.
 */
export interface AppendStatements {
  /** @param rows distinct, and in the same order in every instance */
  insertNew(tx: Transaction, rows: AppendedRow[]): Promise<Stored>;
}

export type AppendedRow = Pick<DeliveryRow, (typeof columns)[number]>;

export interface Stored {
  /** The keys of the deliveries that are new. */
  keys: Set<string>;
  /** `install/delivery id` of ids that now belong to more than one body. */
  reusedIds: Set<string>;
}

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
      .returning(['install', 'bodySha256', 'deliveryId'])
      .compile(),
  );
  const findReused = oncePerSize((size) =>
    kysely
      .selectFrom('delivery')
      .select(['install', 'deliveryId'])
      .where('deliveryId', 'in', new Array<string>(size).fill(''))
      .groupBy(['deliveryId', 'install'])
      .having((eb) => eb(eb.fn.countAll(), '>', eb.lit(1)))
      .compile(),
  );

  const countStored = createCountStored(kysely);

  return {
    async insertNew(tx, rows) {
      if (rows.length === 0) return { keys: new Set(), reusedIds: new Set() };
      const parameters = rows.flatMap((row) => columns.map((column) => row[column]));
      const inserted = await tx.executeQuery<InsertedRow>({ ...insert(rows.length), parameters });
      const keys = new Set(inserted.rows.map((row) => deliveryKeyOf(row.install, row.bodySha256)));
      if (keys.size < rows.length) await retakeFailed(tx, rows, keys);
      const isNew = (row: AppendedRow) => keys.has(deliveryKeyOf(row.install, row.bodySha256));
      const added = keys.size === rows.length ? rows : rows.filter(isNew);
      const sizes = added.map((row) => ({ install: row.install, bytes: bytesOf(row) }));
      await countStored(tx, sumByInstall(sizes));
      const ids = inserted.rows.flatMap((row) => row.deliveryId ?? []);
      if (ids.length === 0) return { keys, reusedIds: new Set() };
      const reused = await tx.executeQuery<SenderKey>({
        ...findReused(ids.length),
        parameters: ids,
      });
      return {
        keys,
        reusedIds: new Set(reused.rows.map((row) => `${row.install}/${row.deliveryId}`)),
      };
    },
  };
}

interface SenderKey {
  install: string;
  deliveryId: string | null;
}

interface InsertedRow extends SenderKey {
  bodySha256: Buffer;
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

/** Install and digest as text. */
export function deliveryKeyOf(install: string, digest: Buffer): string {
  return `${install}/${digest.toString('hex')}`;
}
