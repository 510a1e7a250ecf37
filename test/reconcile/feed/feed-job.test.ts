import { expect, it } from 'vitest';
import type { Context } from '../../../src/context.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { bindInstall } from '../../../src/installs/binding-store.ts';
import { hurryJobs } from '../../../src/jobs/job-store.ts';
import type { Grant } from '../../../src/marketplace/source.ts';
import type { FeedPorts } from '../../../src/reconcile/feed/feed-job.ts';
import { findFeed, keepFeed } from '../../../src/reconcile/feed/feed-store.ts';
import { createAlerting } from '../../support/alerting.ts';
import { inStudio } from '../../support/engine-harness.ts';
import { createRandom } from '../../support/random.ts';
import { describeAnyDatabase, tries } from '../../support/tries.ts';
import { type FeedWorld, openFeedWorld } from './feed-harness.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describeAnyDatabase('the feed', (openFresh) => {
  const open = async () => await openFeedWorld(await openFresh());

  it('is read page by page, each event is stored once, and later each reading is one request', async () => {
    const { raise, read, readAll, stored, clock, front } = await open();
    raise(450);
    expect(await readAll()).toBe(3);
    expect(await stored()).toEqual(upTo(450));
    const before = front.asked().length;
    for (let poll = 1; poll <= 5; poll += 1) {
      clock.advance(29_999);
      expect(await read()).toBe(false);
      clock.advance(1);
      expect(await readAll()).toBe(1);
      expect(front.asked()).toHaveLength(before + poll);
    }
    raise(1);
    clock.advance(30_000);
    await readAll();
    expect(await stored()).toEqual(upTo(451));
  });

  it('is read at once after a delivery, unless its readings fail', async () => {
    const { raise, read, readAll, stored, clock, sandbox, account, ctx } = await open();
    const ring = () => inTransaction(ctx.database, (tx) => hurryJobs(tx, 'feed', ['own'], clock.now().toISOString()));
    await readAll();
    raise(1);
    await ring();
    expect(await readAll()).toBe(1);
    expect(await stored()).toEqual(upTo(1));
    sandbox.setFaults(account.accountId, { forbidden: { probability: 1, operations: ['GET /updates'] } });
    clock.advance(30_000);
    expect(await read()).toBe(true);
    await ring();
    expect(await read()).toBe(false);
  });

  it('waits while it fails, says why, and loses nothing', async () => {
    const { raise, read, readAll, stored, row, job, clock, log, sandbox, account } = await open();
    raise(300);
    expect(await read()).toBe(true);
    sandbox.setFaults(account.accountId, { forbidden: { probability: 1, operations: ['GET /updates'] } });
    expect(await read()).toBe(true);
    expect(await read()).toBe(false);
    const { cursor } = (await row()) ?? {};
    expect(await job()).toMatchObject({ attempts: 1, failure: expect.stringContaining('read what has happened') });
    expect(log.text()).toContain('A job failed');
    expect(log.text()).not.toContain(account.token);
    sandbox.setFaults(account.accountId);
    clock.advance(3_600_000);
    expect((await row())?.cursor).toBe(cursor);
    await readAll();
    expect(await job()).toMatchObject({ attempts: 0, failure: null });
    expect(await stored()).toEqual(upTo(300));
  });

  it('starts over where its cursor is refused, and stores no event twice', async () => {
    const { raise, read, readAll, stored, row, job, clock, ctx } = await open();
    raise(3);
    await readAll();
    clock.advance(30_000);
    const feed = await findFeed(ctx, 'own');
    if (feed === undefined) throw new Error('it is bound');
    await keepFeed(ctx, feed, { cursor: 'of another time' });
    raise(1);
    expect(await read()).toBe(true);
    expect([await row(), await job()]).toMatchObject([{ cursor: null }, { attempts: 1 }]);
    clock.advance(3_600_000);
    await readAll();
    expect(await stored()).toEqual(upTo(4));
  });

  it.each([404, 410, 422])('starts over when its cursor is refused with %i', async (status) => {
    const { raise, readAll, stored, row, job, clock, front } = await open();
    raise(3);
    await readAll();
    raise(1);
    clock.advance(30_000);
    front.meddle(({ query }) => (query.has('cursor') ? { status } : undefined));
    await readAll();
    expect([await row(), await job()]).toMatchObject([{ cursor: null }, { attempts: 1 }]);
    clock.advance(3_600_000);
    await readAll();
    expect(await stored()).toEqual(upTo(4));
  });

  it('is an alert after an hour of failures, not before, and says when it is read again', async () => {
    const alerting = createAlerting({ installs: new Map([['own', inStudio()]]) });
    const { read, clock, front } = await openFeedWorld(await openFresh(), alerting.hears);
    front.meddle(() => ({ status: 404 }));
    await read();
    for (let minute = 1; minute < 60; minute += 1) {
      await alerting.ask();
      await read();
    }
    expect(await alerting.announced('feed_unread')).toEqual([]);
    await alerting.ask();
    expect(await alerting.announced('feed_unread')).toEqual(['raised']);
    front.meddle();
    clock.advance(3_600_000);
    await read();
    await alerting.ask();
    expect(await alerting.announced('feed_unread')).toEqual(['raised', 'over']);
  });

  it('counts events older than the retention, and does not store them', async () => {
    const { raise, readAll, stored, clock, ctx } = await open();
    raise(2);
    clock.advance(31 * 86_400_000);
    raise(1);
    await readAll();
    expect(await stored()).toEqual([2]);
    const { values } = await ctx.metrics.feedEvents.get();
    expect(values.map(({ labels, value }) => [labels.status, value])).toEqual([
      ['accepted', 1],
      ['old', 2],
    ]);
  });

  it('is not read while nothing more may be stored', async () => {
    const { raise, read, readAll, stored, clock } = await open();
    raise(1);
    expect(await read({ wouldDefer: async () => 'stored_bytes' })).toBe(true);
    expect(await stored()).toEqual([]);
    clock.advance(120_000);
    await readAll();
    expect(await stored()).toEqual(upTo(1));
  });

  it('is left to others by a process that stops', async () => {
    const { raise, read, stored, row } = await open();
    raise(1);
    expect(await read({}, AbortSignal.abort())).toBe(true);
    expect(await row()).toBeUndefined();
    expect(await read()).toBe(true);
    expect(await stored()).toEqual(upTo(1));
  });

  it('is not moved back by a process that comes late', async () => {
    const { raise, readAll, row, ctx } = await open();
    const late = await findFeed(ctx, 'own');
    if (late === undefined) throw new Error('it is bound');
    raise(2);
    await readAll();
    const { cursor } = (await row()) ?? {};
    expect(await keepFeed(ctx, late, { cursor: '0' })).toBe(false);
    expect(await row()).toMatchObject({ cursor });
  });

  it('begins anew when the token belongs to another account', async () => {
    const { raise, read, readAll, stored, clock, ctx } = await open();
    raise(1);
    await readAll();
    const grant = { id: 'org_other' } as Grant;
    await inTransaction(ctx.database, (tx) => bindInstall(tx, 'own', grant));
    expect(await findFeed(ctx, 'own')).toMatchObject({ grantId: 'org_other', cursor: null });
    expect(await findFeed(ctx, 'another')).toBeUndefined();
    clock.advance(30_000);
    expect(await read()).toBe(true);
    expect(await stored()).toEqual(upTo(1));
  });
});

describeAnyDatabase('a process that dies while it reads the feed', (openFresh) => {
  it('loses no event and stores none twice, wherever it dies', { timeout: 600_000 }, async () => {
    const world = await openFeedWorld(await openFresh());
    const [events, deaths] = [tries(100_000), tries(100)];
    world.raise(events);
    const random = createRandom(7);
    const steps = Math.floor((events / 200) * 203);
    for (let death = 0; death < deaths; death += 1) {
      await liveFor(world, Math.floor(random() * (steps / deaths) * 2));
      // Its lease runs out.
      world.clock.advance(90_001);
    }
    await world.readAll();
    const stored = await world.stored();
    expect(stored).toHaveLength(events);
    expect(new Set(stored).size).toBe(events);
  });
});

/** Reads until so many calls were made, and dies in the next one: before or after it had its effect. */
async function liveFor({ ctx, ports, read }: FeedWorld, calls: number): Promise<void> {
  const death = new AppError('internal', 'the process died');
  let left = calls;
  const mortal = <Given extends unknown[], Answer>(call: (...given: Given) => Promise<Answer>) => {
    return async (...given: Given): Promise<Answer> => {
      left -= 1;
      if (left < 0 && left % 2 === 0) throw death;
      const answer = await call(...given);
      if (left < 0) throw death;
      return answer;
    };
  };
  const { database, sources } = ctx;
  const { readUpdates } = sources.get('own') ?? {};
  if (readUpdates === undefined) throw new Error('the source has a feed');
  const dying: Partial<Context & FeedPorts> = {
    append: mortal(ports.append),
    sources: new Map([['own', { readUpdates: mortal(readUpdates) }]]) as unknown as Context['sources'],
    // Once it is dead, it stores nothing more.
    database: {
      ...database,
      transact: (work, isDurable) =>
        left < 0 ? Promise.reject(death) : mortal(() => database.transact(work, isDurable))(),
    },
  };
  try {
    while (await read(dying));
  } catch (error) {
    if (error !== death) throw error;
  }
}
