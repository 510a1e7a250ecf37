import { describe, expect, it } from 'vitest';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { ensureEndpoint, rotateEndpoint } from '../../src/subscription/change-endpoint.ts';
import { noteUnmatchedSignature } from '../../src/subscription/subscription-store.ts';
import { openForTest } from '../support/databases.ts';
import { openSubscriptionWorld, surroundings } from '../support/subscription-world.ts';
import { watchQueries } from '../support/watch-queries.ts';

const { signal } = new AbortController();
const cutOff = () => Promise.reject(new Error('cut'));

describe.each(surroundings)('rotating an endpoint, %s', (_, openMarket, dialect) => {
  async function open(options = {}) {
    const database = openForTest(await dialect.createMigrated());
    const world = await openSubscriptionWorld(openMarket, database, options);
    const rotate = () => rotateEndpoint(world.ctx, 'acme', { signal, overlapMs: 0 });
    return { ...world, rotate };
  }

  async function openConnected(options = {}) {
    const world = await open(options);
    const { endpointId } = await ensureEndpoint(world.ctx, 'acme', { mayMove: false, signal });
    const [{ secret } = { secret: null }] = await world.stored();
    await world.takeReadWanted();
    world.clock.advance(60_000);
    return { ...world, endpointId, secret };
  }

  it('replaces it with another one with another secret', async () => {
    const world = await openConnected();
    const { endpointId, ...rest } = await world.rotate();
    expect(endpointId).not.toBe(world.endpointId);
    expect(rest).toEqual({ replaced: [world.endpointId], hadGap: false, hasConfiguredSecrets: false });
    const whole = { id: endpointId, url: world.url, eventTypes };
    expect(await world.endpoints()).toMatchObject([whole]);
    const [{ secret } = { secret: null }, ...others] = await world.stored();
    expect([secret === world.secret, others]).toEqual([false, []]);
    expect(await world.takeReadWanted()).toBe(true);
  });

  it('has a gap if only one is allowed, and says so', async () => {
    const world = await openConnected({ endpointsPerInstall: 1 });
    const { endpointId, hadGap } = await world.rotate();
    expect(hadGap).toBe(true);
    expect(await world.endpoints()).toMatchObject([{ id: endpointId }]);
    expect(await world.stored()).toMatchObject([{ endpointId }]);
    expect(await world.record()).toMatchObject({ creatingSince: null });
    expect(await world.takeReadWanted()).toBe(true);
  });

  it('replaces one with a secret of the configuration, which is needed no longer', async () => {
    const world = await open({ hasConfiguredSecrets: true });
    const { id } = await world.makeByHand();
    expect(await world.rotate()).toMatchObject({ replaced: [id], hasConfiguredSecrets: true });
    expect(await world.endpoints()).toHaveLength(1);
  });

  it('repairs a disabled one whose secret is unknown', async () => {
    const world = await openConnected();
    await world.failDeliveries(10);
    await noteUnmatchedSignature(world.ctx, 'acme', world.clock.now().toISOString());
    await world.check();
    expect(await world.record()).toMatchObject({ trouble: expect.any(Object) });
    await world.rotate();
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ status: 'ACTIVE', eventTypes }]);
    expect(await world.record()).toMatchObject({ trouble: null, unmatchedAt: null });
  });

  it('fails if there is nothing to rotate', async () => {
    const world = await open();
    await expect(world.rotate()).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('gangway connect acme'),
    });
  });

  it('is finished by the watch when it was cut off before the first was deleted', async () => {
    const world = await openConnected();
    const cut = new AbortController();
    const database = watchQueries(world.ctx.database, { 'insert webhookEndpoint': () => cut.abort() });
    const ctx = { ...world.ctx, database };
    const rotating = rotateEndpoint(ctx, 'acme', { signal: cut.signal, overlapMs: 60_000 });
    await expect(rotating).rejects.toMatchObject({ code: 'unavailable' });
    expect([await world.endpoints(), await world.stored()]).toMatchObject([
      [{}, {}],
      [{}, {}],
    ]);
    await world.check();
    expect(await world.endpoints()).toHaveLength(2);
    world.clock.advance(10_000);
    await world.check();
    const [left, ...others] = await world.endpoints();
    expect([left?.id === world.endpointId, others]).toEqual([false, []]);
    expect(left?.eventTypes?.toSorted()).toEqual(eventTypes.toSorted());
    expect(await world.stored()).toMatchObject([{ endpointId: left?.id }]);
    expect(await world.takeReadWanted()).toBe(true);
  });

  it('is finished by the watch when it was cut off before the second was stored', async () => {
    const world = await openConnected();
    const database = watchQueries(world.ctx.database, { 'insert webhookEndpoint': cutOff });
    const ctx = { ...world.ctx, database };
    await expect(rotateEndpoint(ctx, 'acme', { signal })).rejects.toThrow('cut');
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ id: world.endpointId }]);
    expect(await world.record()).toMatchObject({ creatingSince: null, trouble: null });
  });

  it('leaves one with a secret of the configuration when it was cut off', async () => {
    const world = await open({ hasConfiguredSecrets: true });
    const { id } = await world.makeByHand();
    let stored = 0;
    const database = watchQueries(world.ctx.database, {
      async 'insert webhookEndpoint'() {
        stored += 1;
        // The first is the one of the configuration.
        if (stored > 1) await cutOff();
      },
    });
    const ctx = { ...world.ctx, database };
    await expect(rotateEndpoint(ctx, 'acme', { signal })).rejects.toThrow('cut');
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ id }]);
    expect(await world.stored()).toMatchObject([{ endpointId: id, secret: null }]);
  });

  it('is finished by the watch when it was cut off in the gap', async () => {
    const world = await openConnected({ endpointsPerInstall: 1 });
    const database = watchQueries(world.ctx.database, { 'insert webhookEndpoint': cutOff });
    const ctx = { ...world.ctx, database };
    await expect(rotateEndpoint(ctx, 'acme', { signal })).rejects.toThrow('cut');
    expect(await world.stored()).toEqual([]);
    await world.check();
    const [made] = await world.endpoints();
    expect(await world.stored()).toMatchObject([{ endpointId: made?.id }]);
    await world.check();
    expect(await world.record()).toMatchObject({ trouble: null });
  });
});
