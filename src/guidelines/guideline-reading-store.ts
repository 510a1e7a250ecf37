import { type Database, inTransaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';

/** The only SQL about when the publications of installs are read. */
export interface GuidelineReadingStore {
  list(): Promise<Row<'guidelineReading'>[]>;
  /** Those of these installs that are not due, or that another process reads. */
  notDue(installs: readonly string[], now: string): Promise<Set<string>>;
  /** @returns undefined if it is not due, or if another process has just claimed it */
  claim(install: string, now: string, leasedUntil: string): Promise<ClaimedReading | undefined>;
  settle(claimed: ClaimedReading, at: { readAt: string; nextReadAt: string }): Promise<void>;
  postpone(claimed: ClaimedReading, failure: string, nextReadAt: string): Promise<void>;
  /** Ends a claim. */
  release(claimed: ClaimedReading): Promise<void>;
}

/** It is held as long as no other process has leased it since. */
export interface ClaimedReading {
  install: string;
  leasedUntil: string | null;
  failures: number;
}

export function createGuidelineReadingStore(database: Database): GuidelineReadingStore {
  const { kysely } = database;

  async function update(
    { install, leasedUntil }: ClaimedReading,
    changes: Partial<Row<'guidelineReading'>>,
  ): Promise<void> {
    await inTransaction(database, (tx) =>
      tx
        .updateTable('guidelineReading')
        .set(changes)
        .where('install', '=', install)
        .where('leasedUntil', '=', leasedUntil)
        .execute(),
    );
  }

  return {
    list: () => kysely.selectFrom('guidelineReading').selectAll().orderBy('install').execute(),

    async notDue(installs, now) {
      if (installs.length === 0) return new Set();
      const rows = kysely
        .selectFrom('guidelineReading')
        .select('install')
        .where('install', 'in', installs)
        .where((eb) => eb.or([eb('nextReadAt', '>', now), eb('leasedUntil', '>', now)]));
      return new Set((await rows.execute()).map(({ install }) => install));
    },

    async claim(install, now, leasedUntil) {
      const unread = { readAt: null, failures: 0, failure: null };
      return await inTransaction(database, (tx) =>
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
    },

    settle: (claimed, at) => update(claimed, { ...at, failures: 0, failure: null, leasedUntil: null }),

    postpone: (claimed, failure, nextReadAt) =>
      update(claimed, { failure, nextReadAt, failures: claimed.failures + 1, leasedUntil: null }),

    release: (claimed) => update(claimed, { leasedUntil: null }),
  };
}
