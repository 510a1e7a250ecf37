import { describe, expect, it } from 'vitest';
import { holdLock } from '../../src/db/lock.ts';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { beginCreatingEndpoint, noteUnmatchedSignature } from '../../src/subscription/subscription-store.ts';
import { openForTest } from '../support/databases.ts';
import { checkOf, openSubscriptionWorld, surroundings } from '../support/subscription-world.ts';
import { watchQueries } from '../support/watch-queries.ts';

const { signal } = new AbortController();
const minute = 60_000;
const hour = 60 * minute;

describe.each(surroundings)('a subscription that is watched, %s', (_, openMarket, dialect) => {
  const open = async (options = {}) =>
    await openSubscriptionWorld(openMarket, openForTest(await dialect.createMigrated()), options);

  /** With an endpoint of its own that is in order. */
  async function openConnected() {
    const world = await open();
    await beginCreatingEndpoint(world.ctx, 'acme', world.clock.now().toISOString());
    await world.check();
    await world.takeReadWanted();
    const [{ endpointId } = { endpointId: '' }] = await world.stored();
    return { ...world, endpointId };
  }

  it('is never created unless an operator asked for it, and one alert says so', async () => {
    const world = await open();
    await world.check();
    await world.check();
    expect(await world.endpoints()).toEqual([]);
    expect(await world.record()).toMatchObject({
      checkedAt: world.clock.now().toISOString(),
      trouble: { says: 'acme has no webhook endpoint at the marketplace' },
    });
    expect(world.alerts()).toEqual(['endpoint_trouble: acme has no webhook endpoint at the marketplace']);
  });

  it('is adopted by its URL if the configuration has secrets', async () => {
    const world = await open({ hasConfiguredSecrets: true });
    const { id } = await world.makeByHand();
    await world.check();
    expect(await world.stored()).toMatchObject([{ endpointId: id, secret: null }]);
    expect(await world.record()).toMatchObject({ trouble: null });
  });

  it('is created again if its secret was received and never stored', async () => {
    const world = await open();
    await beginCreatingEndpoint(world.ctx, 'acme', world.clock.now().toISOString());
    const lost = await world.makeByHand();
    await world.check();
    const [made, ...others] = await world.endpoints();
    expect([made?.url, others]).toEqual([world.url, []]);
    expect(made?.id).not.toBe(lost.id);
    expect(await world.stored()).toMatchObject([{ endpointId: made?.id, secret: expect.stringMatching(/^whsec_/) }]);
    expect(await world.record()).toMatchObject({ creatingSince: null, trouble: null });
    expect(await world.takeReadWanted()).toBe(true);
  });

  it('is finished after a crash just after its secret was received', async () => {
    const world = await open();
    const { ctx } = world;
    await beginCreatingEndpoint(ctx, 'acme', world.clock.now().toISOString());
    const database = watchQueries(ctx.database, {
      'insert webhookEndpoint': () => Promise.reject(new Error('power cut')),
    });
    await expect(checkOf({ ...ctx, database })).rejects.toThrow('power cut');
    expect([await world.endpoints(), await world.stored()]).toMatchObject([[{}], []]);
    await world.check();
    const [made] = await world.endpoints();
    expect(await world.stored()).toMatchObject([{ endpointId: made?.id }]);
  });

  it('is created again if it was deleted by hand', async () => {
    const world = await openConnected();
    await world.api.deleteEndpoint(world.endpointId, signal);
    await world.check();
    const [made] = await world.endpoints();
    expect(made?.id).not.toBe(world.endpointId);
    expect(await world.stored()).toMatchObject([{ endpointId: made?.id, secret: expect.stringMatching(/^whsec_/) }]);
    expect(await world.takeReadWanted()).toBe(true);
    await world.check();
    expect([await world.endpoints(), await world.takeReadWanted()]).toMatchObject([[made], false]);
  });

  it('gets the event types that it lacks, and keeps those it has', async () => {
    const world = await openConnected();
    const some = ['install.revoked', 'contract.ended'];
    await world.api.updateEndpoint(world.endpointId, { eventTypes: some }, signal);
    await world.check();
    const [{ eventTypes: types } = { eventTypes: [] }] = await world.endpoints();
    expect([types?.slice(0, 2), types?.toSorted()]).toEqual([some, eventTypes.toSorted()]);
  });

  it('is enabled after ten failures, redelivered, and the install is read', async () => {
    const world = await openConnected();
    await world.failDeliveries(10);
    expect(await world.endpoints()).toMatchObject([{ status: 'DISABLED' }]);
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ status: 'ACTIVE' }]);
    expect(await world.takeReadWanted()).toBe(true);
    expect(world.alerts()).toEqual([expect.stringMatching(/^endpoint_disabled: /)]);
    // What is sent again fails again, because no server listens.
    await world.market.pass(5 * minute);
    expect(await world.endpoints()).toMatchObject([{ status: 'DISABLED' }]);
    await world.check();
    expect(await world.record()).toMatchObject({
      trouble: { says: expect.stringContaining('no webhook arrived since it was enabled') },
    });
    expect(await world.takeReadWanted()).toBe(false);
  });

  it('stays disabled the fourth time in a day, with an alert', async () => {
    const world = await openConnected();
    const disable = { status: 'DISABLED' } as const;
    const statuses: string[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      await world.api.updateEndpoint(world.endpointId, disable, signal);
      world.clock.advance(hour);
      await world.check();
      statuses.push(...(await world.endpoints()).map(({ status }) => status));
    }
    expect(statuses).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE', 'DISABLED', 'DISABLED']);
    const alerts = world.alerts();
    expect(alerts.filter((line) => line.startsWith('endpoint_disabled'))).toHaveLength(3);
    expect(alerts.filter((line) => /endpoint_trouble.*3 times/.test(line))).toHaveLength(1);
    world.clock.advance(21 * hour);
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ status: 'ACTIVE' }]);
    expect(await world.record()).toMatchObject({ trouble: null });
  });

  it('stays disabled until a delivery is accepted, if no secret matched', async () => {
    const world = await openConnected();
    await world.failDeliveries(10);
    await world.accept();
    world.clock.advance(minute);
    await noteUnmatchedSignature(world.ctx, 'acme', world.clock.now().toISOString());
    world.clock.advance(minute);
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ status: 'DISABLED' }]);
    const { trouble } = await world.record();
    expect(trouble?.action).toContain('gangway endpoint rotate acme');
    await world.accept();
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ status: 'ACTIVE' }]);
  });

  it('is not moved if it delivers elsewhere', async () => {
    const world = await openConnected();
    const url = 'http://127.0.0.1:10/webhooks/acme';
    await world.api.updateEndpoint(world.endpointId, { url }, signal);
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ id: world.endpointId, url }]);
    expect(await world.record()).toMatchObject({
      trouble: { action: 'Have it deliver here: gangway connect acme --move' },
    });
  });

  it('is not touched while the token is refused, and one alert says so', async () => {
    const world = await openConnected();
    await world.failDeliveries(10);
    const before = await world.record();
    world.market.revokeToken();
    world.clock.advance(minute);
    await world.check();
    await world.check();
    expect(await world.record()).toEqual({
      ...before,
      trouble: {
        says: expect.stringContaining('answered 401'),
        action: expect.stringContaining('webhooks:manage'),
      },
    });
    expect(await world.stored()).toHaveLength(1);
    expect([world.alerts().length, await world.takeReadWanted()]).toEqual([1, false]);
  });

  it('is left alone while another process has it', async () => {
    const world = await openConnected();
    const at = (ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
    await holdLock(world.ctx.database, 'subscription:acme', 'another', at(0), at(minute));
    await world.api.deleteEndpoint(world.endpointId, signal);
    expect(await world.check()).toBe(false);
    expect(await world.endpoints()).toEqual([]);
    world.clock.advance(minute);
    expect(await world.check()).toBe(true);
    expect(await world.endpoints()).toHaveLength(1);
  });
});
