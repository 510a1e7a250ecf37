import { beforeEach, expect, it } from 'vitest';
import { createLockStore, type LockStore } from '../../src/db/lock-store.ts';
import { describeEachDialect, openForTest } from '../support/databases.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 15, 12, 0, seconds)).toISOString();

describeEachDialect('a named lock', (dialect) => {
  let here: LockStore;
  let there: LockStore;

  beforeEach(async () => {
    const url = await dialect.createMigrated();
    here = createLockStore(openForTest(url));
    there = createLockStore(openForTest(url));
  });

  it('is held by one, who may hold it on', async () => {
    expect(await here.hold('tool', 'a', at(0), at(30))).toBe(true);
    expect(await there.hold('tool', 'b', at(1), at(31))).toBe(false);
    expect(await here.hold('tool', 'a', at(20), at(50))).toBe(true);
    expect(await there.hold('tool', 'b', at(31), at(61))).toBe(false);
  });

  it('is taken over once its lease has run out, and not a millisecond before', async () => {
    await here.hold('tool', 'a', at(0), at(30));
    expect(await there.hold('tool', 'b', '2026-03-15T12:00:29.999Z', at(60))).toBe(false);
    expect(await there.hold('tool', 'b', at(30), at(60))).toBe(true);
    expect(await here.hold('tool', 'a', at(31), at(61))).toBe(false);
  });

  it('is let go of only by who holds it', async () => {
    await here.hold('tool', 'a', at(0), at(30));
    await there.release('tool', 'b');
    expect(await there.hold('tool', 'b', at(1), at(31))).toBe(false);
    await here.release('tool', 'a');
    expect(await there.hold('tool', 'b', at(1), at(31))).toBe(true);
  });

  it('is another one under another name', async () => {
    await here.hold('tool', 'a', at(0), at(30));
    expect(await there.hold('Tool', 'b', at(1), at(31))).toBe(true);
    expect(await there.hold('__proto__', 'b', at(1), at(31))).toBe(true);
  });

  it('goes to one of many who ask at once', async () => {
    const asked = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? here : there).hold('tool', `t${index}`, at(0), at(30)),
    );
    expect((await Promise.all(asked)).filter((held) => held)).toHaveLength(1);
  });
});
