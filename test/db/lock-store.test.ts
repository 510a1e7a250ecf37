import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { holdLock, releaseLock } from '../../src/db/lock.ts';
import { describeEachDialect, openForTest } from '../support/databases.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 15, 12, 0, seconds)).toISOString();

describeEachDialect('a named lock', (dialect) => {
  let here: Database;
  let there: Database;

  beforeEach(async () => {
    const url = await dialect.createMigrated();
    here = openForTest(url);
    there = openForTest(url);
  });

  it('has one holder, who may renew it', async () => {
    expect(await holdLock(here, 'tool', 'a', at(0), at(30))).toBe(true);
    expect(await holdLock(there, 'tool', 'b', at(1), at(31))).toBe(false);
    expect(await holdLock(here, 'tool', 'a', at(20), at(50))).toBe(true);
    expect(await holdLock(there, 'tool', 'b', at(31), at(61))).toBe(false);
  });

  it('can be taken when its lease has run out, and not a millisecond before', async () => {
    await holdLock(here, 'tool', 'a', at(0), at(30));
    expect(await holdLock(there, 'tool', 'b', '2026-03-15T12:00:29.999Z', at(60))).toBe(false);
    expect(await holdLock(there, 'tool', 'b', at(30), at(60))).toBe(true);
    expect(await holdLock(here, 'tool', 'a', at(31), at(61))).toBe(false);
  });

  it('can be released only by its holder', async () => {
    await holdLock(here, 'tool', 'a', at(0), at(30));
    await releaseLock(there, 'tool', 'b');
    expect(await holdLock(there, 'tool', 'b', at(1), at(31))).toBe(false);
    await releaseLock(here, 'tool', 'a');
    expect(await holdLock(there, 'tool', 'b', at(1), at(31))).toBe(true);
  });

  it('is independent of other names', async () => {
    await holdLock(here, 'tool', 'a', at(0), at(30));
    expect(await holdLock(there, 'Tool', 'b', at(1), at(31))).toBe(true);
    expect(await holdLock(there, '__proto__', 'b', at(1), at(31))).toBe(true);
  });

  it('goes to one of many that ask at once', async () => {
    const asked = Array.from({ length: 20 }, (_, index) =>
      holdLock(index % 2 === 0 ? here : there, 'tool', `t${index}`, at(0), at(30)),
    );
    expect((await Promise.all(asked)).filter((held) => held)).toHaveLength(1);
  });
});
