import { inTransaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';

// The only SQL about when the publications of installs are read.

export function listManualReadings(ctx: Storage): Promise<Row<'guidelineReading'>[]> {
  return ctx.database.kysely.selectFrom('guidelineReading').selectAll().orderBy('install').execute();
}

/** The last reading of an install; undefined if there was none. */
export function findManualReading(ctx: Storage, install: string): Promise<Row<'guidelineReading'> | undefined> {
  return ctx.database.kysely
    .selectFrom('guidelineReading')
    .selectAll()
    .where('install', '=', install)
    .executeTakeFirst();
}

export async function keepManualReading(ctx: Storage, reading: Row<'guidelineReading'>): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('guidelineReading')
      .values(reading)
      .onConflict((conflict) => conflict.column('install').doUpdateSet(reading))
      .execute(),
  );
}
