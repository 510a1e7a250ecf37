import { inTransaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';

// The only SQL about when the publications of installs are read.

/** It is held as long as no other process has leased it since. */
export interface ClaimedReading {
  install: string;
  leasedUntil: string | null;
  failures: number;
}

export function listManualReadings(ctx: Storage): Promise<Row<'guidelineReading'>[]> {
  return ctx.database.kysely.selectFrom('guidelineReading').selectAll().orderBy('install').execute();
}

/** Those of these installs that are not due, or that another process reads. */
export async function installsNotDueForManuals(
  ctx: Storage,
  installs: readonly string[],
  now: string,
): Promise<Set<string>> {
  if (installs.length === 0) return new Set();
  const rows = ctx.database.kysely
    .selectFrom('guidelineReading')
    .select('install')
    .where('install', 'in', installs)
    .where((eb) => eb.or([eb('nextReadAt', '>', now), eb('leasedUntil', '>', now)]));
  return new Set((await rows.execute()).map(({ install }) => install));
}

/** @returns undefined if it is not due, or if another process has just claimed it */
export async function claimManualReading(
  ctx: Storage,
  install: string,
  now: string,
  leasedUntil: string,
): Promise<ClaimedReading | undefined> {
  const unread = { readAt: null, failures: 0, failure: null };
  return await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('guidelineReading')
      .values({ install, nextReadAt: now, leasedUntil, ...unread })
      .onConflict((conflict) =>
        conflict
          .column('install')
          .doUpdateSet({ leasedUntil })
          .where('guidelineReading.nextReadAt', '<=', now)
          .where(isFree('guidelineReading', now)),
      )
      .returning(['install', 'leasedUntil', 'failures'])
      .executeTakeFirst(),
  );
}

export function settleManualReading(
  ctx: Storage,
  claimed: ClaimedReading,
  at: { readAt: string; nextReadAt: string },
): Promise<void> {
  return update(ctx, claimed, { ...at, failures: 0, failure: null, leasedUntil: null });
}

export function postponeManualReading(
  ctx: Storage,
  claimed: ClaimedReading,
  failure: string,
  nextReadAt: string,
): Promise<void> {
  return update(ctx, claimed, { failure, nextReadAt, failures: claimed.failures + 1, leasedUntil: null });
}

/** Ends a claim. */
export function releaseManualReading(ctx: Storage, claimed: ClaimedReading): Promise<void> {
  return update(ctx, claimed, { leasedUntil: null });
}

async function update(
  ctx: Storage,
  { install, leasedUntil }: ClaimedReading,
  changes: Partial<Row<'guidelineReading'>>,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('guidelineReading')
      .set(changes)
      .where('install', '=', install)
      .where('leasedUntil', '=', leasedUntil)
      .execute(),
  );
}
