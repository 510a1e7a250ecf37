import { expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import { announceTroubles } from '../../src/operations/alert-worker.ts';
import { createAlerting, tellNow } from '../support/alerting.ts';
import { inStudio } from '../support/engine-harness.ts';
import { insert } from '../support/insert.ts';
import { atOnce, createTelling, notifying, type Telling } from '../support/notices.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describeAnyDatabase('a listed trouble', (openFresh) => {
  async function open() {
    const alerting = createAlerting();
    const telling = createTelling(await openFresh(), alerting.hears);
    return { alerting, telling };
  }

  /** One more day of work of an install is held. */
  async function hold({ kysely }: Database, id: string, install = 'acme') {
    const one = { id, work: id, install, trainerId: 'usr1', day: '2026-03-01', source: 'tool:studio', workedOn: '{}' };
    const why = { seconds: 9150, reason: 'no_contract' as const, contracts: '[]', state: 'held' as const };
    await insert(kysely, 'usageHeld', { ...one, ...why, since: '2026-03-02T00:00:00.000Z' });
  }

  async function release({ kysely }: Database, id: string) {
    await kysely.deleteFrom('usageHeld').where('id', '=', id).execute();
  }

  it('is announced once by three instances, and so is its end', async () => {
    const { alerting, telling } = await open();
    const { database } = telling;
    await hold(database, 'a');
    await alerting.ask();
    const ctx: Context = { ...telling, config: notifying({ ops: atOnce }), installs: new Map([['acme', inStudio()]]) };
    const all = () => Promise.all([tellNow(ctx), tellNow(ctx), tellNow(ctx)]);
    await all();
    expect(await alerting.announced('usage_held')).toEqual(['raised']);
    telling.clock.advance(hourMs);
    await release(database, 'a');
    await all();
    expect(await alerting.announced('usage_held')).toEqual(['raised', 'over']);
    expect(await alerting.standing('usage_held')).toBe(0);
  });

  it('is announced for each install by itself', async () => {
    const { alerting, telling } = await open();
    for (let count = 0; count < 1000; count += 1) await hold(telling.database, `a${count}`);
    await hold(telling.database, 'b', 'globex');
    await alerting.ask();
    expect(await alerting.announced('usage_held')).toEqual(['raised', 'raised']);
    await release(telling.database, 'b');
    await alerting.ask();
    expect(await alerting.announced('usage_held')).toEqual(['raised', 'raised', 'over']);
  });

  it('is announced again if it has grown, at most once a day', async () => {
    const { alerting, telling } = await open();
    await hold(telling.database, 'a');
    const ask = async () => {
      await alerting.ask();
      return (await alerting.announced('usage_held')).length;
    };
    expect(await ask()).toBe(1);
    await hold(telling.database, 'b');
    expect(await ask()).toBe(1);
    telling.clock.advance(dayMs);
    expect([await ask(), await ask()]).toEqual([2, 2]);
    await release(telling.database, 'a');
    telling.clock.advance(dayMs);
    expect(await ask()).toBe(2);
  });

  it('is announced only after a while, and repeated as a reminder', async () => {
    const { alerting, telling } = await open();
    const { kysely } = telling.database;
    const failingSince = telling.clock.now().toISOString();
    const failing = { failure: 'answered 403', failingSince };
    await insert(kysely, 'usageScope', { tool: 'studio', scope: 'lamps', ...failing });
    for (let minute = 1; minute < 10; minute += 1) await alerting.ask();
    expect(await alerting.announced('usage_never_read')).toEqual([]);
    await alerting.ask();
    expect(await alerting.announced('usage_never_read')).toEqual(['raised']);
    telling.clock.advance(7 * dayMs);
    await alerting.ask();
    expect(await alerting.announced('usage_never_read')).toEqual(['raised', 'still']);
  });

  it('is not over while no instance runs, because the list is incomplete then', async () => {
    const { alerting, telling } = await open();
    await hold(telling.database, 'a');
    await alerting.ask();
    await release(telling.database, 'a');
    telling.clock.advance(dayMs);
    const ctx: Context = { ...telling, installs: new Map([['acme', inStudio()]]) };
    await announceTroubles(
      ctx,
      async () => undefined,
      new AbortController().signal,
      () => undefined,
    );
    expect(await alerting.announced('usage_held')).toEqual(['raised']);
    await alerting.ask();
    expect(await alerting.announced('usage_held')).toEqual(['raised', 'over']);
  });

  it('is announced and logged with its details, without secrets', async () => {
    const { alerting, telling } = await open();
    const trouble = { says: 'Ask ada@example.com', action: 'Wait' };
    await insert(telling.database.kysely, 'subscription', { install: 'acme', trouble: JSON.stringify(trouble) });
    await alerting.ask();
    const message = 'Webhooks of acme may not arrive. Ask a…@example.com';
    expect(logged(telling)).toEqual([{ kind: 'endpoint_trouble', install: 'acme', message }]);
  });
});

function logged({ log }: Telling): object[] {
  return log.lines().flatMap(({ alert: kind, install, msg: message }) => (kind ? [{ kind, install, message }] : []));
}
