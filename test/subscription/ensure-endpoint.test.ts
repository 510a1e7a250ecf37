import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { ensureEndpoint } from '../../src/subscription/change-endpoint.ts';
import { noteUnmatchedSignature } from '../../src/subscription/subscription-store.ts';
import { openForTest } from '../support/databases.ts';
import { openSubscriptionWorld, surroundings } from '../support/subscription-world.ts';

const { signal } = new AbortController();
const elsewhere = 'http://127.0.0.1:10/webhooks/acme';

describe.each(surroundings)('connecting an install, %s', (_, openMarket, dialect) => {
  async function open(options = {}) {
    const database = openForTest(await dialect.createMigrated());
    const world = await openSubscriptionWorld(openMarket, database, options);
    const ensure = (mayMove = false) => ensureEndpoint(world.ctx, 'acme', { mayMove, signal });
    return { ...world, ensure };
  }

  it('creates an endpoint, and may be repeated', async () => {
    const world = await open();
    const made = await world.ensure();
    expect(made.how).toBe('created');
    expect(await world.ensure()).toEqual({ endpointId: made.endpointId, how: 'kept' });
    expect(await world.endpoints()).toMatchObject([{ id: made.endpointId, url: world.url }]);
    expect(await world.stored()).toMatchObject([
      { endpointId: made.endpointId, secret: expect.stringMatching(/^whsec_/) },
    ]);
    expect(await world.record()).toMatchObject({ creatingSince: null, trouble: null });
    expect(await world.takeReadWanted()).toBe(true);
  });

  it('adopts one that was made by hand, with a secret of the configuration', async () => {
    const world = await open({ hasConfiguredSecrets: true });
    const { id } = await world.makeByHand();
    expect(await world.ensure()).toEqual({ endpointId: id, how: 'adopted' });
    expect(await world.stored()).toMatchObject([{ endpointId: id, secret: null }]);
  });

  it('replaces one whose secret is unknown, even if only one is allowed', async () => {
    const world = await open({ endpointsPerInstall: 1 });
    const { id } = await world.makeByHand();
    const { endpointId, how } = await world.ensure();
    expect([how, endpointId === id]).toEqual(['replaced', false]);
    expect(await world.endpoints()).toMatchObject([{ id: endpointId }]);
  });

  it('moves one that delivers elsewhere only if it may', async () => {
    const world = await open();
    const { endpointId } = await world.ensure();
    await world.api.updateEndpoint(endpointId, { url: elsewhere }, signal);
    await expect(world.ensure()).rejects.toMatchObject({ code: 'conflict' });
    expect(await world.endpoints()).toMatchObject([{ id: endpointId, url: elsewhere }]);
    expect(await world.ensure(true)).toEqual({ endpointId, how: 'moved' });
    expect(await world.endpoints()).toMatchObject([{ id: endpointId, url: world.url }]);
  });

  it('enables a disabled one', async () => {
    const world = await open();
    const { endpointId } = await world.ensure();
    await world.failDeliveries(10);
    await noteUnmatchedSignature(world.ctx, 'acme', world.clock.now().toISOString());
    expect(await world.ensure()).toEqual({ endpointId, how: 'kept' });
    expect(await world.endpoints()).toMatchObject([{ status: 'ACTIVE' }]);
  });

  it('leaves nothing behind if the marketplace accepts no more endpoints', async () => {
    const world = await open({ endpointsPerInstall: 1 });
    await world.makeByHand(elsewhere);
    await expect(world.ensure()).rejects.toMatchObject({ code: 'conflict' });
    expect(await world.stored()).toEqual([]);
    expect(await world.record()).toMatchObject({ creatingSince: null });
    await world.check();
    expect(await world.endpoints()).toMatchObject([{ url: elsewhere }]);
  });

  it('leaves the creation to the watch if it could only delete', async () => {
    const world = await open();
    await world.makeByHand();
    const refused = new AppError('conflict', 'as many as may be', { status: 409 });
    const api = { ...world.api, createEndpoint: () => Promise.reject(refused) };
    const ctx = { ...world.ctx, sources: new Map([['acme', api]]) };
    await expect(ensureEndpoint(ctx, 'acme', { mayMove: false, signal })).rejects.toBe(refused);
    expect(await world.endpoints()).toEqual([]);
    await world.check();
    const [made] = await world.endpoints();
    expect(await world.stored()).toMatchObject([{ endpointId: made?.id }]);
  });

  it('creates one at a time, however many ask', async () => {
    const world = await open();
    const all = await Promise.all([world.ensure(), world.ensure(), world.ensure()]);
    expect(all.map(({ how }) => how).sort()).toEqual(['created', 'kept', 'kept']);
    expect(await world.endpoints()).toHaveLength(1);
  });

  it('needs to know where the marketplace reaches it', async () => {
    const world = await open();
    const config = { ...world.ctx.config, receiver: { ...world.ctx.config.receiver, publicUrl: undefined } };
    const ctx = { ...world.ctx, config };
    await expect(ensureEndpoint(ctx, 'acme', { mayMove: false, signal })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('receiver.publicUrl'),
    });
  });
});
