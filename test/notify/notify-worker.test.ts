import { beforeEach, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import {
  type Channel,
  createSlackChannel,
  createWebhookChannel,
  type MessageResult,
} from '../../src/notify/channels.ts';
import { addBudgetNotice, claimDispatch, settleDispatch } from '../../src/notify/notice-store.ts';
import { createNotifying, settleMessage } from '../../src/notify/notify-worker.ts';
import { openForTest } from '../support/databases.ts';
import { answering, type Hook, openHook } from '../support/hook.ts';
import { killAtTransaction } from '../support/kill-at-transaction.ts';
import {
  atOnce,
  createTelling,
  never,
  newNotice,
  newOrder,
  notifying,
  secret,
  type Telling,
} from '../support/notices.ts';
import { storageOf } from '../support/storage-of.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { countTroublesIn } from '../support/troubles.ts';

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

describeAnyDatabase('a notice', (openFresh) => {
  let telling: Telling;
  let hook: Hook;
  let channel: Channel;

  beforeEach(async () => {
    telling = createTelling(await openFresh());
    hook = await openHook();
    channel = createWebhookChannel('billing', { url: hook.url, secret }, telling.clock);
  });

  const ids = () => hook.posts.map(({ headers }) => headers['webhook-id']);
  const row = async () => (await telling.rows())[0];

  /** Lets time pass, and sends what becomes due meanwhile. */
  async function pass(ms: number, stepMs = hourMs): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      telling.clock.advance(stepMs);
      await telling.sendAll(channel);
    }
  }

  it('is stored in the transaction that found it, or not at all', async () => {
    const { database } = telling;
    const ctx = { ...telling, config: notifying({ billing: atOnce }) };
    const failing = inTransaction(database, async (tx) => {
      await addBudgetNotice(ctx, tx, newNotice());
      throw new Error('killed');
    });
    await expect(failing).rejects.toThrow('killed');
    expect(await telling.rows()).toEqual([]);
    expect(await database.kysely.selectFrom('notice').selectAll().execute()).toEqual([]);
    await inTransaction(database, (tx) => addBudgetNotice(ctx, tx, newNotice()));
    expect(await telling.rows()).toMatchObject([{ channel: 'billing', state: 'waiting' }]);
  });

  it('is not stored without a channel', async () => {
    await telling.add([], newNotice());
    expect(await telling.rows()).toEqual([]);
    const notices = telling.database.kysely.selectFrom('notice').selectAll();
    expect(await notices.execute()).toEqual([]);
  });

  it('is sent once, and logged', async () => {
    await telling.add([channel], newNotice());
    await pass(dayMs);
    expect(hook.posts).toHaveLength(1);
    expect(await row()).toMatchObject({
      state: 'sent',
      attempts: 1,
      nextAttemptAt: null,
      failure: null,
      leaseToken: null,
      settledAt: '2026-03-15T13:00:00.000Z',
    });
    expect(await telling.outcomes()).toEqual(['sent 1']);
    expect(telling.log.lines()).toMatchObject([{ msg: 'A notice was sent', channel: 'billing' }]);
  });

  it('is sent again under the same id after a crash, when nobody knows whether it was sent', async () => {
    await telling.add([channel], newNotice());
    // The first transaction claims the message, the second settles it.
    const database = killAtTransaction(telling.database, 2);
    await expect(telling.sendAll(channel, { ...telling, database })).rejects.toThrow('killed');
    await telling.sendAll(channel);
    expect(ids()).toHaveLength(1);
    telling.clock.advance(minuteMs);
    await telling.sendAll(channel);
    expect(ids()).toEqual([expect.stringMatching(/^msg_[\w-]{36}$/), ids()[0]]);
    expect(await row()).toMatchObject({ state: 'sent', attempts: 2 });
  });

  it('is sent again under the same id if a stop broke it off', async () => {
    const stopping = new AbortController();
    hook.answer = () => stopping.abort();
    await telling.add([channel], newNotice());
    await createNotifying(telling, channel)(stopping.signal);
    expect(await row()).toMatchObject({ state: 'waiting', failure: null });
    hook.answer = answering(200);
    await pass(minuteMs, minuteMs);
    expect(ids()).toEqual([ids()[0], ids()[0]]);
    expect(await row()).toMatchObject({ state: 'sent' });
  });

  it('is sent by one of two instances, never by both', async () => {
    const storage = storageOf(openForTest(telling.database.url));
    const notices = Array.from({ length: 12 }, (_, at) => newNotice({ contractId: `c${at}` }));
    await telling.add([channel], ...notices);
    await Promise.all([telling.sendAll(channel), telling.sendAll(channel, storage)]);
    expect(hook.posts).toHaveLength(12);
    const contracts = hook.posts.map(({ body }) => /"contractId":"(c\d+)"/.exec(body)?.[1]);
    expect(new Set(contracts)).toEqual(new Set(notices.map(({ contractId }) => contractId)));
    expect(await telling.outcomes()).toEqual(['sent 12']);
  });

  it('is not settled by an instance that lost its lease', async () => {
    await telling.add([channel], newNotice());
    const { clock } = telling;
    const first = await claimDispatch(telling, newOrder('billing', clock));
    expect(await claimDispatch(telling, newOrder('billing', clock))).toBeNull();
    clock.advance(30_000);
    const second = await claimDispatch(telling, newOrder('billing', clock));
    expect(second).toMatchObject({ id: first?.id, attempts: 2 });
    const now = clock.now().toISOString();
    const settlement = { state: 'failed' as const, now, nextAttemptAt: null, failure: 'late' };
    expect(await settleDispatch(telling, { token: first?.token ?? '' }, settlement)).toBe(false);
    expect(await row()).toMatchObject({ state: 'waiting', failure: null });
    expect(await settleDispatch(telling, { token: second?.token ?? '' }, settlement)).toBe(true);
  });

  it('is tried for three days while the server is down, then given up with an alert', async () => {
    hook.close();
    await telling.add([channel], newNotice());
    await pass(3 * dayMs - hourMs);
    expect(await row()).toMatchObject({ state: 'waiting', settledAt: null });
    expect(telling.log.text()).not.toContain('notification_failed');
    hook = await openHook('/hook', hook.port);
    hook.answer = answering(503);
    await pass(hourMs);
    expect(hook.posts).toHaveLength(1);
    expect(await row()).toMatchObject({
      state: 'failed',
      failure: 'answered 503',
      nextAttemptAt: null,
      settledAt: '2026-03-18T12:00:00.000Z',
    });
    expect(telling.log.lines().at(-1)).toMatchObject({
      alert: 'notification_failed',
      channel: 'billing',
      failure: 'answered 503',
    });
    await pass(dayMs);
    expect(hook.posts).toHaveLength(1);
  });

  it('is a trouble while it could not be sent', async () => {
    const troubles = () => countTroublesIn(telling);
    hook.answer = answering(401);
    await telling.add([channel], newNotice());
    expect(await troubles()).toEqual([]);
    await telling.sendAll(channel);
    expect(await troubles()).toEqual(['channel_failing 1']);
    hook.answer = answering(200);
    await pass(hourMs);
    expect(await troubles()).toEqual([]);
  });

  it('arrives once a server is up again', async () => {
    hook.close();
    await telling.add([channel], newNotice());
    await pass(5 * hourMs);
    hook = await openHook('/hook', hook.port);
    await pass(2 * hourMs);
    expect(hook.posts).toHaveLength(1);
    expect(await row()).toMatchObject({ state: 'sent', failure: null });
  });

  it.each([408, 425, 429, 500, 503])('is tried soon again after %d', async (status) => {
    hook.answer = answering(status);
    await telling.add([channel], newNotice());
    await telling.sendAll(channel);
    expect(await telling.outcomes()).toEqual(['deferred 1']);
    await pass(minuteMs, 2000);
    expect(hook.posts.length).toBeGreaterThan(2);
  });

  it('waits as long as the receiver asked', async () => {
    hook.answer = answering(429, { 'retry-after': '1800' });
    await telling.add([channel], newNotice());
    await telling.sendAll(channel);
    hook.answer = answering(200);
    await pass(29 * minuteMs, minuteMs);
    expect(hook.posts).toHaveLength(1);
    await pass(minuteMs, minuteMs);
    expect(await row()).toMatchObject({ state: 'sent', attempts: 2 });
  });

  it.each([400, 401, 403, 404, 422, 302])('is tried hourly after %d', async (status) => {
    hook.answer = answering(status, { location: `${hook.url}/elsewhere` });
    await telling.add([channel], newNotice());
    await telling.sendAll(channel);
    await pass(59 * minuteMs, minuteMs);
    expect(hook.posts).toHaveLength(1);
    await pass(minuteMs, minuteMs);
    expect(hook.posts).toHaveLength(2);
    await pass(3 * dayMs);
    expect(await row()).toMatchObject({ state: 'failed', failure: `answered ${status}` });
    expect(telling.log.lines().at(-1)).toMatchObject({ alert: 'notification_failed', outcome: 'refused' });
    expect(hook.posts.every(({ path }) => path === '/hook')).toBe(true);
  });

  it('is given up at once if the receiver is gone', async () => {
    hook.answer = answering(410);
    await telling.add([channel], newNotice());
    await pass(2 * dayMs);
    expect(hook.posts).toHaveLength(1);
    expect(await row()).toMatchObject({ state: 'failed', failure: 'answered 410', attempts: 1 });
    expect(await telling.outcomes()).toEqual(['gone 1']);
    expect(telling.log.lines()).toMatchObject([{ alert: 'notification_failed' }]);
  });

  it('is the only one tried while its channel is down, however many wait', async () => {
    hook.answer = answering(500);
    const notices = Array.from({ length: 20 }, (_, at) => newNotice({ contractId: `c${at}` }));
    await telling.add([channel], ...notices);
    const notify = createNotifying(telling, channel);
    // The same process all the time: it waits longer and longer.
    for (let second = 0; second < 600; second += 1) {
      while ((await notify(never)) === 'more');
      telling.clock.advance(1000);
    }
    expect(hook.posts.length).toBeLessThan(60);
    hook.answer = answering(200);
    await pass(2 * hourMs);
    expect((await telling.rows()).every(({ state }) => state === 'sent')).toBe(true);
  });

  it('does not wait for another channel', async () => {
    const other = createSlackChannel('chat', { url: hook.url });
    const { url, close } = await openHook();
    close();
    const down = createWebhookChannel('down', { url, secret }, telling.clock);
    await telling.add([down, channel, other], newNotice());
    for (const one of [down, channel]) await telling.sendAll(one);
    telling.clock.advance(minuteMs);
    await telling.sendAll(other);
    expect(await telling.rows()).toMatchObject([
      { channel: 'down', state: 'waiting', failure: 'Could not send a notice: ECONNREFUSED' },
      { channel: 'billing', state: 'sent' },
      { channel: 'chat', state: 'sent' },
    ]);
  });
});

describeAnyDatabase('notices in a digest', (openFresh) => {
  let telling: Telling;
  let hook: Hook;
  let channel: Channel;

  beforeEach(async () => {
    telling = createTelling(await openFresh());
    hook = await openHook();
    channel = createSlackChannel('chat', { url: hook.url });
  });

  const texts = () => hook.posts.map(({ body }) => (JSON.parse(body) as { text: string }).text);
  const contract = (contractId: string) => newNotice({ contractId });

  it('of one minute are one message', async () => {
    await telling.add([channel], contract('c1'));
    telling.clock.advance(59_000);
    await telling.add([channel], contract('c2'), contract('c3'));
    await telling.sendAll(channel);
    expect(hook.posts).toEqual([]);
    telling.clock.advance(1000);
    await telling.sendAll(channel);
    await telling.add([channel], contract('c4'));
    telling.clock.advance(minuteMs);
    await telling.sendAll(channel);
    expect(texts().map(contractsIn)).toEqual([['c1', 'c2', 'c3'], ['c4']]);
  });

  it('are the same message at every attempt, whatever is added meanwhile', async () => {
    hook.answer = answering(503);
    await telling.add([channel], contract('c1'), contract('c2'));
    telling.clock.advance(minuteMs);
    await telling.sendAll(channel);
    hook.answer = answering(200);
    await telling.add([channel], contract('c3'));
    telling.clock.advance(hourMs);
    await telling.sendAll(channel);
    const [first, again, later] = texts();
    expect(again).toBe(first);
    expect(later).toMatch(/c3/);
    const rows = await telling.rows();
    expect(new Set(rows.map(({ messageId }) => messageId)).size).toBe(2);
  });

  it('that failed together get ids of their own once the channel takes one at a time', async () => {
    hook.answer = answering(503);
    await telling.add([channel], contract('c1'), contract('c2'), contract('c3'));
    telling.clock.advance(minuteMs);
    await telling.sendAll(channel);
    hook.answer = answering(200);
    telling.clock.advance(hourMs);
    const settings = { url: hook.url, secret } as const;
    await telling.sendAll(createWebhookChannel('chat', settings, telling.clock));
    const [, ...posts] = hook.posts;
    expect(new Set(posts.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
    expect(new Set(posts.map(({ body }) => body)).size).toBe(3);
  });

  it('are sent together by one of two instances', async () => {
    const storage = storageOf(openForTest(telling.database.url));
    const notices = Array.from({ length: 8 }, (_, at) => contract(`c${at}`));
    for (let round = 1; round <= 5; round += 1) {
      await telling.add([channel], ...notices);
      telling.clock.advance(minuteMs);
      await Promise.all([telling.sendAll(channel), telling.sendAll(channel, storage)]);
      expect(hook.posts).toHaveLength(round);
    }
  });

  it('that failed together are retried by one of two instances', async () => {
    const storage = storageOf(openForTest(telling.database.url));
    hook.answer = answering(503);
    await telling.add([channel], ...Array.from({ length: 8 }, (_, at) => contract(`c${at}`)));
    telling.clock.advance(minuteMs);
    await telling.sendAll(channel);
    for (let round = 2; round <= 6; round += 1) {
      telling.clock.advance(hourMs);
      await Promise.all([telling.sendAll(channel), telling.sendAll(channel, storage)]);
      expect(hook.posts).toHaveLength(round);
    }
    expect(new Set(texts()).size).toBe(1);
  });
});

const createdAt = '2026-03-15T12:00:00.000Z';
/** With the longest wait of those that are drawn. */
function settle(sent: MessageResult, { at = createdAt, attempts = 1 } = {}) {
  return settleMessage({ createdAt, attempts }, sent, new Date(at), () => 1);
}

const deferred = { outcome: 'deferred', failure: 'answered 503' } as const;
const refused = { outcome: 'refused', failure: 'answered 401' } as const;

describe('a message after an attempt', () => {
  it.each([
    [1, '2026-03-15T12:00:02.000Z'],
    [5, '2026-03-15T12:00:32.000Z'],
    [50, '2026-03-15T13:00:00.000Z'],
  ])('that was deferred %d times waits until %s at the latest', (attempts, nextAttemptAt) => {
    expect(settle(deferred, { attempts })).toMatchObject({ state: 'waiting', nextAttemptAt });
  });

  it.each([deferred, refused])('is tried for the last time after three days: $outcome', (sent) => {
    const nextAttemptAt = '2026-03-18T12:00:00.000Z';
    const late = settle(sent, { at: '2026-03-18T11:59:00.000Z', attempts: 50 });
    expect(late).toMatchObject({ state: 'waiting', nextAttemptAt });
    expect(settle(sent, { at: nextAttemptAt })).toMatchObject({
      state: 'failed',
      nextAttemptAt: null,
      failure: sent.failure,
    });
  });

  it('waits as long as the receiver asked, even beyond the three days', () => {
    const at = '2026-03-18T11:59:00.000Z';
    const nextAttemptAt = '2026-03-18T12:09:00.000Z';
    expect(settle({ ...deferred, retryAfterMs: 600_000 }, { at })).toMatchObject({ nextAttemptAt });
  });
});

function contractsIn(text: string): string[] {
  return [...text.matchAll(/contract (\S+) of/g)].map(([, id = '']) => id);
}
