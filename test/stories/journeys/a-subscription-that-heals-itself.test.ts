import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { endpointsOf } from '../../../src/installs/install-store.ts';
import { findInstallState } from '../../../src/reconcile/read/install-state-store.ts';
import { rotateEndpoint } from '../../../src/subscription/change-endpoint.ts';
import { findSubscription } from '../../../src/subscription/subscription-store.ts';
import { sqlite } from '../../support/databases.ts';
import { untilNothingIsDue } from '../../support/journey.ts';
import { type Answer, post } from '../../support/receiver-harness.ts';
import { sign } from '../../support/sign.ts';
import { storageOf } from '../../support/storage-of.ts';
import { surroundings } from '../../support/subscription-world.ts';
import { isThorough } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { watchQueries } from '../../support/watch-queries.ts';
import { openWatchedBridge, type WatchedBridge } from '../../support/watched-bridge.ts';

const { signal } = new AbortController();
const minute = 60_000;

/** Each marketplace; its steps meet each database in the tests of the subscription. */
const markets = surroundings.map(
  ([name, openMarket, dialect]) => [name.replace(/, on .*/, ''), openMarket, isThorough ? dialect : sqlite] as const,
);

describe.each(markets)('a subscription, %s', (_, openMarket, dialect) => {
  const statusOf = async ({ endpoints }: WatchedBridge) => (await endpoints())[0]?.status;

  async function untilDone({ storage, clock }: WatchedBridge): Promise<void> {
    await untilNothingIsDue(storage, clock);
  }

  /** Time that passes while the first check is under way puts the next one off. */
  async function untilChecked(bridge: WatchedBridge): Promise<void> {
    const record = () => findSubscription(bridge.services, 'acme');
    await until('it is checked', record, ({ checkedAt }) => checkedAt !== null);
    await untilDone(bridge);
  }

  function hire({ market, jobId }: WatchedBridge, count: number): string[] {
    return Array.from({ length: count }, (__, index) => market.hire(jobId, `u${index}`));
  }

  /** Past the door, and of no meaning. */
  function probeWith({ receiverUrl, clock }: WatchedBridge, secret: string): Promise<Answer> {
    const body = '{"type": "probe.sent", "resourceId": "1"}';
    return post(`${receiverUrl}/webhooks/acme`, body, {
      'content-type': 'application/json',
      'x-opentrain-signature': sign(body, secret, clock.seconds()),
    });
  }

  it('that was disabled is enabled again, and no missed event is lost', async () => {
    const bridge = await openWatchedBridge(openMarket, dialect);
    await bridge.market.settle();
    await untilChecked(bridge);
    bridge.door.leadTo(null);
    const hired = hire(bridge, 12);
    await bridge.market.settle();
    expect(await statusOf(bridge)).toBe('DISABLED');
    expect(await bridge.delivered()).toEqual([]);
    const states = storageOf(bridge.storage.database);
    const { readBeganAt } = (await findInstallState(states, 'acme')) ?? {};

    bridge.door.leadTo(bridge.receiverUrl);
    bridge.clock.advance(5 * minute);
    const status = () => statusOf(bridge);
    await until('it is enabled', status, (seen) => seen === 'ACTIVE');
    const state = () => findInstallState(states, 'acme');
    await until('it is read', state, (seen) => seen?.readBeganAt !== readBeganAt);
    const passAndLook = async () => {
      // Time that runs faster than the bridge works ends every lease before its work is done.
      await untilDone(bridge);
      await bridge.market.pass(5 * minute);
      return await bridge.delivered();
    };
    await until('what failed has come', passAndLook, (contracts) => contracts.length >= 12);
    expect((await bridge.delivered()).sort()).toEqual(hired.sort());
  });

  it('whose secret is wrong is not enabled again', async () => {
    const webhookSecrets = ['whsec_another_one'];
    const bridge = await openWatchedBridge(openMarket, dialect, { webhookSecrets });

    const stored = () => endpointsOf(bridge.services, 'acme');
    await until('it is adopted', stored, ({ length }) => length === 1);
    await untilChecked(bridge);
    hire(bridge, 12);
    await bridge.market.settle();
    expect(await statusOf(bridge)).toBe('DISABLED');
    bridge.clock.advance(5 * minute);
    const record = () => findSubscription(bridge.services, 'acme');
    const { trouble } = await until('it is reported', record, (seen) => seen.trouble !== null);
    expect(trouble?.says).toContain('an unknown secret');
    expect(await statusOf(bridge)).toBe('DISABLED');
  });

  it('is rotated while deliveries come, and each is stored once', async () => {
    const bridge = await openWatchedBridge(openMarket, dialect);
    const { services } = bridge;
    const [before] = await bridge.endpoints();
    const hired: string[] = [];
    const rotated = new AbortController();
    async function keepHiring(): Promise<void> {
      while (!rotated.signal.aborted) {
        hired.push(bridge.market.hire(bridge.jobId, `u${hired.length}`));
        await bridge.market.settle();
        await wait(10);
      }
    }
    async function untilHired(more: number): Promise<void> {
      const enough = hired.length + more;
      await until(
        `${more} more are hired`,
        () => hired.length,
        (count) => count >= enough,
      );
    }
    const hiring = keepHiring();
    await untilHired(5);
    let isStored = false;
    const watched = watchQueries(services.database, {
      'insert webhookEndpoint'() {
        isStored = true;
      },
    });
    const database: Database = {
      ...watched,
      // However slow the machine is: the bridge has loaded what the command beside it has stored.
      async transact(work, isDurable) {
        const result = await watched.transact(work, isDurable);
        if (!isStored) return result;
        isStored = false;
        const secret = (await endpointsOf(services, 'acme')).at(-1)?.secret ?? '';
        const probe = () => probeWith(bridge, secret);
        await until('the new secret is known', probe, ({ status }) => status === 200);
        await untilHired(5);
        return result;
      },
    };
    const api = services.sources.get('acme');
    if (api === undefined) throw new Error('no source');
    const source: typeof api = {
      ...api,
      async deleteEndpoint(...given) {
        await api.deleteEndpoint(...given);
        // What the first endpoint still delivers is answered, however slow the machine is.
        await bridge.market.settle();
      },
    };
    const ctx = { ...services, database, sources: new Map([['acme', source]]) };
    await rotateEndpoint(ctx, 'acme', { signal, overlapMs: 300 });
    await untilHired(5);
    rotated.abort();
    await hiring;
    await bridge.market.pass(minute);
    const [after, ...others] = await bridge.endpoints();
    expect([after?.id === before?.id, others, after?.status]).toEqual([false, [], 'ACTIVE']);
    expect((await bridge.delivered()).sort()).toEqual(hired.sort());
    expect(new Set(bridge.door.answers())).toEqual(new Set([200]));
  });
});
