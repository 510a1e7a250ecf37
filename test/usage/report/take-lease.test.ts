import { expect, it } from 'vitest';
import { takeLease } from '../../../src/usage/report/report-usage.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createTestContext } from '../../support/engine-harness.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const minuteMs = 60_000;

describeEachDatabase('a lease of contracts', (openFresh) => {
  async function openLocks() {
    const clock = createFakeClock();
    const ctx = createTestContext(await openFresh(), { clock });
    const take = (...contractIds: string[]) => takeLease(ctx, 'acme', contractIds);
    return { clock, take };
  }

  it('covers the contracts that no other lease covers, until it is released', async () => {
    const { take } = await openLocks();
    const first = await take('a', 'b');
    expect([...first.contractIds].sort()).toEqual(['a', 'b']);
    const second = await take('b', 'c');
    expect([...second.contractIds]).toEqual(['c']);
    await first.release();
    expect([...(await take('b', 'c')).contractIds]).toEqual(['b']);
  });

  it('is kept as long as it is renewed in time, and not after it has expired', async () => {
    const { clock, take } = await openLocks();
    const lease = await take('a');
    for (let minute = 0; minute < 5; minute += 1) {
      clock.advance(minuteMs);
      expect(await lease.keep()).toBe(true);
      expect([...(await take('a')).contractIds]).toEqual([]);
    }
    clock.advance(2 * minuteMs);
    expect(await lease.keep()).toBe(false);
    const other = await take('a');
    expect([...other.contractIds]).toEqual(['a']);
    await lease.release();
    expect([...(await take('a')).contractIds]).toEqual([]);
  });
});
