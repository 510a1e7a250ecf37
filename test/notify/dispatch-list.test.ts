import { expect, it } from 'vitest';
import { claimDispatch, type DispatchFilter, listDispatches, settleDispatch } from '../../src/notify/notice-store.ts';
import { addNotices, atOnce, createTelling, newNotice, newOrder } from '../support/notices.ts';
import { describeAnyDatabase } from '../support/tries.ts';

describeAnyDatabase('sent notices', (openFresh) => {
  it('are listed page by page, newest first, and by state', async () => {
    const telling = createTelling(await openFresh());
    const { database, clock, rows } = telling;
    const notices = [1, 2, 3, 4, 5].map((number) => newNotice({ contractId: `c${number}` }));

    await addNotices({ database, clock }, { ops: atOnce }, notices);
    // The two oldest are sent.
    for (const _ of [1, 2]) {
      const claim = await claimDispatch(telling, newOrder('ops', clock));
      if (claim === null) throw new Error('none was due');
      const now = clock.now().toISOString();
      expect(await settleDispatch(telling, claim, { state: 'sent', now, nextAttemptAt: null, failure: null })).toBe(
        true,
      );
    }
    const ids = (await rows()).map(({ id }) => id);
    const page = async (filter: Omit<DispatchFilter, 'limit'>) =>
      (await listDispatches(telling, { ...filter, limit: 2 })).map(({ id }) => ids.indexOf(id) + 1);
    expect(await page({})).toEqual([5, 4]);
    expect(await page({ before: ids[3] })).toEqual([3, 2]);
    expect(await page({ before: ids[1] })).toEqual([1]);
    expect(await page({ before: ids[0] })).toEqual([]);
    expect(await page({ state: 'sent' })).toEqual([2, 1]);
    expect(await page({ state: 'sent', before: ids[1] })).toEqual([1]);
    expect(await page({ state: 'waiting', before: ids[4] })).toEqual([4, 3]);
  });
});
