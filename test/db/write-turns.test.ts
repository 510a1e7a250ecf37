import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { createWriteTurns, type WriteTurns } from '../../src/db/write-turns.ts';
import { sqlite } from '../support/databases.ts';

const write = (database: Database, value: string, hold = async () => {}) =>
  inTransaction(database, async (tx) => {
    await writeSetting(tx, 'key_fingerprint', value);
    await hold();
  });

async function openBoth(): Promise<Record<'first' | 'other', Database>> {
  const url = await sqlite.createMigrated();
  const writeTurns = createWriteTurns();
  const [first, other] = [openDatabase(url, { ownsThread: true, writeTurns }), openDatabase(url, { writeTurns })];
  onTestFinished(async () => void (await Promise.all([first.close(), other.close()])));
  return { first, other };
}

it('a thread that writes without a break lets the thread that stores deliveries go first', async () => {
  const { first, other } = await openBoth();
  let isOver = false;
  let written = 0;
  async function writeOn() {
    for (; !isOver; written += 1) await write(other, 'other', () => nextTurn());
  }
  const writing = writeOn();
  const waited: number[] = [];
  for (let time = 0; time < 20; time += 1) {
    for (const next = written + 1; written < next; ) await nextTurn();
    const before = written;
    await write(first, 'first');
    waited.push(written - before);
  }
  isOver = true;
  await writing;
  // One or two: the transaction that it met, and one that had begun to wait before. A machine that stands still for
  // longer than way is given makes it more; without it there are hundreds.
  expect(Math.max(...waited)).toBeLessThan(100);
});

it('nobody waits for a thread that ended while it waited', async () => {
  const { first, other } = await openBoth();
  Atomics.store(first.writeTurns as WriteTurns, 0, 1);
  await write(other, 'other');
  await write(first, 'first');
  expect(first.writeTurns?.[0]).toBe(0);
});
