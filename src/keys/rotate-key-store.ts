import { sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { lockInstances, refuseRunning } from '../db/instance-store.ts';
import { tables } from '../db/schema.ts';
import { readSetting, writeSetting } from '../db/setting-store.ts';
import type { Clock } from '../lib/clock.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';
import { wrongKey } from './secret-key.ts';

interface Rotation {
  database: Database;
  oldKey: Uint8Array;
  newKey: Uint8Array;
  /** False if another process has the SQLite database open. */
  isAlone: boolean;
  clock: Clock;
  signal: AbortSignal;
  onProgress(progress: Progress): void;
}

export interface Progress {
  /** The column that is being sealed again: `table.column`. */
  column: string;
  /** How many of its values have been read. */
  seen: number;
}

export interface RotatedKey {
  /** How many values were sealed with the new key. */
  resealed: number;
  /** How many values the old key does not open. They are not changed. */
  unopened: number;
}

interface Boxes {
  old: SecretBox;
  next: SecretBox;
}

const chunkSize = 50;

/**
 * Seals everything with the new key, in one transaction: after a crash, only the old key opens the database. Does nothing if
 * the new key opens it already.
 *
 * @throws AppError `conflict` while another process uses the database, or if it opens with neither key
 */
export async function rotateKey(rotation: Rotation): Promise<RotatedKey> {
  const { database, oldKey, newKey } = rotation;
  const boxes = { old: createSecretBox(oldKey), next: createSecretBox(newKey) };
  return await inTransaction(
    database,
    async (tx) => {
      await lockInstances(tx, database.dialect);
      await refuseRunning(tx, rotation);
      const rotated = { resealed: 0, unopened: 0 };
      const known = await readSetting(tx, 'key_fingerprint');
      if (known === boxes.next.fingerprint) return rotated;
      if (known !== undefined && known !== boxes.old.fingerprint) throw wrongKey(known, boxes.old.fingerprint);
      for (const column of sealedColumns) await resealColumn(rotation, tx, column, boxes, rotated);
      await writeSetting(tx, 'key_fingerprint', boxes.next.fingerprint);
      return rotated;
    },
    { isDurable: true },
  );
}

async function resealColumn(
  { signal, onProgress }: Rotation,
  tx: Transaction,
  column: SealedColumn,
  { old, next }: Boxes,
  rotated: RotatedKey,
): Promise<void> {
  let seen = 0;
  for (let after: readonly (string | number)[] | null = null; ; ) {
    signal.throwIfAborted();
    const page = await pageSealedValues(tx, column, after, chunkSize);
    for (const value of page) {
      const plain = tryOpen(old, value);
      if (plain === undefined) {
        rotated.unopened += 1;
        continue;
      }
      const digest = column.digest && next.digest(column.digest.textOf(plain));
      await replaceSealedValue(tx, column, value.key, { sealed: next.seal(plain, value.context), digest });
      rotated.resealed += 1;
    }
    seen += page.length;
    onProgress({ column: `${column.table}.${column.column}`, seen });
    if (page.length < chunkSize) return;
    after = page.at(-1)?.key ?? null;
  }
}

/** A value that does not open was broken before, and must not stop the rotation. */
function tryOpen(box: SecretBox, { sealed, context }: { sealed: Buffer; context: string }): Buffer | undefined {
  try {
    return box.open(sealed, context);
  } catch {
    return undefined;
  }
}

type Key = readonly (string | number)[];

interface SealedColumn {
  table: string;
  column: string;
  /** The columns that identify a row, in the order of the pages. */
  key: readonly string[];
  contextOf(row: object): string;
  /** The column with a digest of the value, and the text that is digested. */
  digest: { column: string; textOf(plain: Buffer): string } | undefined;
}

interface SealedValue {
  key: Key;
  context: string;
  sealed: Buffer;
}

export const sealedColumns: readonly SealedColumn[] = Object.entries(tables).flatMap(
  ([table, { columns, key = ['id'] }]) =>
    Object.entries(columns).flatMap(([column, { facts }]) => {
      const { contextOf, digest } = facts;
      return contextOf === undefined ? [] : [{ table, column, key, contextOf, digest }];
    }),
);

/**
 * The next sealed values of a column. An empty value is a body that was not kept.
 *
 * @param after the key of the last value on the page before; null for the first page
 */
async function pageSealedValues(
  tx: Transaction,
  { table, column, key, contextOf }: SealedColumn,
  after: Key | null,
  limit: number,
): Promise<SealedValue[]> {
  const isAfter = after === null ? sql`true` : sql`(${listOf(key)}) > (${sql.join([...after])})`;
  const query = sql<Record<string, string | number | Buffer>>`select * from ${sql.table(table)}
    where octet_length(${sql.ref(column)}) > 0 and ${isAfter} order by ${listOf(key)} limit ${limit}`;
  const { rows } = await query.execute(tx);
  return rows.map((row) => ({
    key: key.map((name) => row[name] as string | number),
    context: contextOf(row),
    sealed: row[column] as Buffer,
  }));
}

async function replaceSealedValue(
  tx: Transaction,
  { table, column, key, digest }: SealedColumn,
  of: Key,
  renewed: { sealed: Buffer; digest: string | undefined },
): Promise<void> {
  const sets = [sql`${sql.ref(column)} = ${renewed.sealed}`];
  if (digest !== undefined) sets.push(sql`${sql.ref(digest.column)} = ${renewed.digest}`);
  await sql`update ${sql.table(table)} set ${sql.join(sets)}
    where (${listOf(key)}) = (${sql.join([...of])})`.execute(tx);
}

function listOf(columns: readonly string[]) {
  return sql.join(columns.map((column) => sql.ref(column)));
}
