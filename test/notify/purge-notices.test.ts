import { beforeEach, expect, it } from 'vitest';
import { createWebhookChannel } from '../../src/notify/channels.ts';
import { purgeNotices } from '../../src/notify/notify-worker.ts';
import { answering, type Hook, openHook } from '../support/hook.ts';
import { atOnce, createTelling, newNotice, notifying, secret, type Telling } from '../support/notices.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const [minuteMs, dayMs] = [60_000, 86_400_000];

describeAnyDatabase('purging notices', (openFresh) => {
  let telling: Telling;
  let hook: Hook;

  beforeEach(async () => {
    telling = createTelling(await openFresh());
    hook = await openHook();
  });

  const channel = (name: string) => createWebhookChannel(name, { url: hook.url, secret }, telling.clock);

  async function clearUp(...channels: string[]): Promise<void> {
    const config = notifying(Object.fromEntries(channels.map((name) => [name, atOnce])));
    while (await purgeNotices({ ...telling, config }, 100));
  }

  const countNotices = async () => (await telling.database.kysely.selectFrom('notice').selectAll().execute()).length;

  it('deletes notices that were settled more than 30 days ago, and none that wait', async () => {
    const [one, other] = [channel('one'), channel('other')];
    await telling.add([one, other], newNotice());
    await telling.sendAll(one);
    hook.answer = answering(503);
    telling.clock.advance(30 * dayMs);
    await clearUp('one', 'other');
    expect(await telling.rows()).toHaveLength(2);
    telling.clock.advance(1);
    await clearUp('one', 'other');
    expect(await telling.rows()).toMatchObject([{ channel: 'other', state: 'waiting' }]);
    expect(await countNotices()).toBe(1);
    await telling.sendAll(other);
    expect(await telling.rows()).toMatchObject([{ state: 'failed' }]);
    telling.clock.advance(31 * dayMs);
    await clearUp('one', 'other');
    expect([await telling.rows(), await countNotices()]).toEqual([[], 0]);
  });

  it('deletes any number, a few at a time', async () => {
    const one = channel('one');
    await telling.add([one], ...Array.from({ length: 250 }, () => newNotice()));
    await telling.database.kysely
      .updateTable('dispatch')
      .set({ state: 'sent', nextAttemptAt: null, settledAt: '2026-01-01T00:00:00.000Z' })
      .execute();
    await clearUp('one');
    expect([await telling.rows(), await countNotices()]).toEqual([[], 0]);
  });

  it('gives up notices for a channel that is no longer configured, and logs that', async () => {
    await telling.add([channel('kept'), channel('dropped')], newNotice(), newNotice());
    telling.clock.advance(11 * minuteMs);
    await clearUp('kept');
    const failure = 'the channel is no longer configured';
    expect(await telling.rows()).toMatchObject([
      { channel: 'kept', state: 'waiting' },
      { channel: 'dropped', state: 'failed', failure, nextAttemptAt: null },
      { channel: 'kept', state: 'waiting' },
      { channel: 'dropped', state: 'failed', failure, nextAttemptAt: null },
    ]);
    expect(telling.log.lines()).toMatchObject([{ channel: 'dropped', notices: 2, level: 'warn' }]);
    expect(await telling.outcomes()).toEqual(['unconfigured 2']);
  });

  it('gives up all if no channel is configured', async () => {
    await telling.add([channel('dropped')], newNotice());
    telling.clock.advance(11 * minuteMs);
    await clearUp();
    expect(await telling.rows()).toMatchObject([{ state: 'failed' }]);
  });

  it('waits ten minutes, in which another version may know the channel', async () => {
    const added = channel('new');
    await telling.add([added], newNotice());
    telling.clock.advance(9 * minuteMs);
    await clearUp('old');
    expect(await telling.rows()).toMatchObject([{ state: 'waiting' }]);
    await telling.sendAll(added);
    expect(await telling.rows()).toMatchObject([{ state: 'sent' }]);
  });
});
