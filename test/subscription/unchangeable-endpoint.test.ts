import { describe, expect, it } from 'vitest';
import { platformEventTypes } from '../../src/domain/event.ts';
import type { Source } from '../../src/marketplace/source.ts';
import { ensureEndpoint, rotateEndpoint } from '../../src/subscription/change-endpoint.ts';
import { redeliver } from '../../src/subscription/look-at-subscription.ts';
import { openForTest } from '../support/databases.ts';
import { checkOf, openSubscriptionWorld, surroundings } from '../support/subscription-world.ts';

const { signal } = new AbortController();
const minute = 60_000;
const hour = 60 * minute;

describe.each(surroundings)('a subscription whose endpoint cannot be changed, %s', (_, openMarket, dialect) => {
  /** With an endpoint of its own that is in order. */
  async function openConnected(options = {}) {
    const database = openForTest(await dialect.createMigrated());
    const world = await openSubscriptionWorld(openMarket, database, options);
    const { updateEndpoint: __, redeliver: ___, ...source } = world.api;
    const ctx = { ...world.ctx, sources: new Map<string, Source>([['acme', source]]) };
    const check = () => checkOf(ctx);
    const disable = async (endpointId: string) =>
      await world.api.updateEndpoint(endpointId, { status: 'DISABLED' }, signal);
    const { endpointId } = await ensureEndpoint(ctx, 'acme', { mayMove: false, signal });
    await world.takeReadWanted();
    world.clock.advance(minute);
    return { ...world, ctx, check, disable, endpointId };
  }

  it('is replaced when disabled, and both secrets are accepted until the first is deleted', async () => {
    const world = await openConnected();
    await world.failDeliveries(10);
    expect(await world.endpoints()).toMatchObject([{ status: 'DISABLED' }]);
    await world.check();
    const both = await world.stored();
    expect(both).toMatchObject([{ endpointId: world.endpointId }, { secret: expect.stringMatching(/^whsec_/) }]);
    expect(new Set(both.map(({ secret }) => secret)).size).toBe(2);
    expect(await world.takeReadWanted()).toBe(true);
    expect(world.alerts()).toEqual([expect.stringMatching(/^endpoint_disabled: .*\. Another endpoint replaces it/)]);
    world.clock.advance(minute);
    await world.check();
    const [left, ...others] = await world.endpoints();
    expect([left, others]).toMatchObject([{ status: 'ACTIVE', eventTypes: platformEventTypes }, []]);
    expect(await world.stored()).toMatchObject([{ endpointId: left?.id }]);
    expect(left?.id).not.toBe(world.endpointId);
    expect(await world.record()).toMatchObject({ trouble: null, creatingSince: null });
  });

  it('is deleted first if only one is allowed', async () => {
    const world = await openConnected({ endpointsPerInstall: 1 });
    await world.disable(world.endpointId);
    await world.check();
    const [left, ...others] = await world.endpoints();
    expect([left?.id === world.endpointId, left?.status, others]).toEqual([false, 'ACTIVE', []]);
    expect(await world.stored()).toMatchObject([{ endpointId: left?.id }]);
  });

  it('stays disabled the fourth time in a day, although each time it is another endpoint', async () => {
    const world = await openConnected();
    const ids = new Set<string>();
    for (let turn = 0; turn < 5; turn += 1) {
      for (const { id } of await world.endpoints()) await world.disable(id);
      world.clock.advance(hour);
      await world.check();
      world.clock.advance(minute);
      await world.check();
      for (const { id } of await world.endpoints()) ids.add(id);
    }
    expect([await world.endpoints(), ids.size]).toMatchObject([[{ status: 'DISABLED' }], 3]);
    expect(await world.record()).toMatchObject({ trouble: { says: expect.stringContaining('3 times') } });
  });

  it('is replaced by one with the event types that it lacks', async () => {
    const world = await openConnected();
    await world.api.updateEndpoint(world.endpointId, { eventTypes: ['install.revoked'] }, signal);
    await world.check();
    world.clock.advance(minute);
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ eventTypes: platformEventTypes }]);
    expect(world.alerts()).toEqual([]);
  });

  it('is rotated without a gap', async () => {
    const world = await openConnected();
    const { endpointId, hadGap } = await rotateEndpoint(world.ctx, 'acme', { signal, overlapMs: 0 });
    expect([endpointId === world.endpointId, hadGap]).toEqual([false, false]);
    expect(await world.endpoints()).toMatchObject([{ id: endpointId, eventTypes: platformEventTypes }]);
  });

  it('cannot redeliver, and says what helps', async () => {
    const world = await openConnected();
    await expect(redeliver(world.ctx, 'acme', undefined, signal)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('gangway reconcile --install acme'),
    });
  });
});
