import { expect, it } from 'vitest';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import { writeSetting } from '../../../src/db/setting-store.ts';
import {
  listDifferences,
  replaceDifferences,
  replaceDifferencesOf,
} from '../../../src/usage/compare/comparison-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { untilWaitForLocks } from '../../support/lock-waiters.ts';
import { storageOf } from '../../support/storage-of.ts';

const counts = { seconds: 60, tasks: 1, labels: 1 };
const of = { install: 'acme', contractId: 'c1' };
const day = '2026-11-20';
const difference = { ...of, trainerId: 't1', day, why: 'not_sent', seen: counts, sent: null } as const;
const found = {
  at: '2026-11-20T12:00:00.000Z',
  firstDay: day,
  differences: [{ ...difference, held: null, heldId: null }],
  left: 0,
  sums: [],
};

describeEachDatabase('what comparisons found', (openFresh) => {
  it.each(['all', 'of a contract'] as const)('is known once, where %s is replaced meanwhile', async (which) => {
    const database = await openFresh();
    const storage = storageOf(database);
    await overlap(
      database,
      () => replaceDifferences(storage, found),
      () =>
        which === 'all'
          ? replaceDifferences(storage, found)
          : replaceDifferencesOf(storage, of, day, found.differences),
    );
    expect(await listDifferences(storage, { limit: 10 })).toHaveLength(1);
  });
});

/** On PostgreSQL the second begins while the first waits for what it writes last. SQLite has one writer. */
async function overlap(database: Database, first: () => Promise<void>, second: () => Promise<void>): Promise<void> {
  if (database.dialect === 'sqlite') return void (await Promise.all([first(), second()]));
  const working: Promise<void>[] = [];
  await inTransaction(database, async (tx) => {
    await writeSetting(tx, 'usage_compared_at', found.at);
    working.push(first());
    await untilWaitForLocks(database, 1);
    working.push(second());
    await Promise.race([working[1], untilWaitForLocks(database, 2)]);
  });
  await Promise.all(working);
}
