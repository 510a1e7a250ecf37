import { expect, it } from 'vitest';
import { resumeRotation, rotateToken } from '../../../src/installs/tokens/rotate-token.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { failureOf } from '../../sources/failure-of.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { openTokenWorld, type Process, signal, type TokenWorld } from '../../support/token-world.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const needed = [
  'payments:read',
  'messages:read',
  'participant_work_email:read',
  'webhooks:manage',
  'instructions:read',
];
const dayMs = 86_400_000;
const longMs = 120_000;

describeAnyDatabase('a token', (openFresh) => {
  async function open() {
    const clock = createFakeClock(new Date().toISOString());
    const world = await openTokenWorld(await openFresh(), clock);
    /** What is due is done, as a running bridge does it, until nothing is under way. */
    const finish = async ({ deps }: Process) => {
      for (let turn = 0; turn < 4; turn += 1) {
        for (const grantId of await deps.rotations.listDue(toInstant(clock.now()))) {
          await resumeRotation(deps, grantId, signal).catch(() => undefined);
        }
        clock.advance(longMs);
      }
      expect(await deps.rotations.find(world.accountId)).toBeUndefined();
    };
    return { ...world, clock, finish };
  }

  const activeIds = ({ active }: Pick<TokenWorld, 'active'>) => active().map(({ id }) => id);

  it('is replaced by one that may do what is needed, and lives as long', async () => {
    const { clock, finish, ...world } = await open();
    const expiresAt = toInstant(new Date(clock.now().getTime() + 30 * dayMs));
    const { token, metadata } = await world.makeToken({ expiresAt });
    const command = await world.open({ configured: { own: token } });
    clock.advance(10 * dayMs);
    const rotated = await command.rotate({ keep: ['payments:write'] });
    const scopes = [...needed, 'payments:write'];
    expect(rotated).toMatchObject({ replacedId: metadata.id, scopes, wasUnderWay: false });
    expect(rotated.expiresAt).toBe(toInstant(new Date(clock.now().getTime() + 30 * dayMs)));
    expect(world.active().at(-1)).toMatchObject({ id: rotated.tokenId, scopes, expiresAt: rotated.expiresAt });
    await finish(command);
    expect(activeIds(world)).not.toContain(metadata.id);
    const audit = world.database.kysely.selectFrom('audit').select(['action', 'subject', 'actor', 'before', 'after']);
    expect(await audit.execute()).toEqual([
      {
        action: 'token rotate',
        subject: 'own',
        actor: 'ops',
        before: metadata.id,
        after: `${rotated.tokenId}: ${scopes.join(' ')}`,
      },
    ]);
    const stored = JSON.stringify(await world.database.kysely.selectFrom('tokenRotation').selectAll().execute());
    expect(stored).not.toContain('ot_pat_');
  });

  it('is not replaced where it lacks what is to be kept, or belongs to a platform', async () => {
    const world = await open();
    const { token } = await world.makeToken({ scopes: needed });
    const command = await world.open({ configured: { own: token } });
    expect(await failureOf(command.rotate({ keep: ['payments:write'] }))).toMatchObject({ code: 'invalid' });
    expect(world.active()).toHaveLength(2);
    const platform = await world.open({ configured: { own: 'ot_ptk_1' }, source: 'platform' });
    const failure = await failureOf(platform.rotate());
    expect(failure.message).toContain('Only the token of an account of your own can be rotated');
  });

  it('that several installs have is replaced for all of them, and for no other', async () => {
    const { finish, ...world } = await open();
    const other = await world.makeToken();
    const configured = { own: world.token, same: world.token, other: other.token };
    const command = await world.open({ configured });
    const { tokenId } = await command.rotate();
    await finish(command);
    const bridge = await world.open({ configured });
    const used = ['own', 'same', 'other'].map((install) => bridge.tokenId(install));
    expect(await Promise.all(used)).toEqual([tokenId, tokenId, other.metadata.id]);
  });

  it('stands for the one in the configuration after every rotation, until the operator puts another one there', async () => {
    const { finish, ...world } = await open();
    const { token, metadata } = await world.makeToken();
    const command = await world.open();
    await command.rotate();
    await finish(command);
    const { tokenId } = await (await world.open()).rotate();
    await finish(command);
    expect(await (await world.open()).tokenId()).toBe(tokenId);
    expect(await (await world.open({ configured: { own: token } })).tokenId()).toBe(metadata.id);
  });

  it('of an install that was connected by command is replaced too, until it is connected with another one', async () => {
    const { finish, ...world } = await open();
    const { token, metadata } = await world.makeToken();
    await world.connect('own', world.token);
    const command = await world.open({ configured: {} });
    const { tokenId } = await command.rotate();
    await finish(command);
    expect(await (await world.open({ configured: {} })).tokenId()).toBe(tokenId);
    await world.connect('own', token);
    expect(await (await world.open({ configured: {} })).tokenId()).toBe(metadata.id);
  });

  it('is kept where the new one cannot do what it must, which is revoked', async () => {
    const world = await open();
    const before = activeIds(world);
    world.sandbox.setFaults(world.accountId, { forbidden: { probability: 1, operations: ['GET /contracts'] } });
    const command = await world.open();
    expect(await failureOf(command.rotate())).toMatchObject({ code: 'forbidden' });
    expect([activeIds(world), await command.tokenId()]).toEqual([before, before[0]]);
    expect(await command.deps.rotations.find(world.accountId)).toBeUndefined();
  });

  it('is tried for a while where the marketplace refuses the new one, which may not be known everywhere yet', async () => {
    const { finish, clock, ...world } = await open();
    world.sandbox.setFaults(world.accountId, { unauthenticated: { probability: 1, operations: ['GET /contracts'] } });
    const command = await world.open();
    expect(await failureOf(command.rotate())).toMatchObject({ code: 'unauthenticated' });
    expect(await command.deps.rotations.find(world.accountId)).toMatchObject({ step: 'proving', failures: 1 });
    clock.advance(10 * 60_000);
    await failureOf(command.rotate());
    expect(await command.deps.rotations.find(world.accountId)).toBeUndefined();
    expect(world.active()).toHaveLength(1);
  });

  it.each(['POST /tokens', 'DELETE /tokens/{id}', 'GET /tokens', 'GET /auth/me'])(
    'is replaced once and leaves nothing behind, though answers of %s are lost',
    async (operation) => {
      const { finish, clock, ...world } = await open();
      const command = await world.open();
      world.sandbox.setFaults(world.accountId, { cutOff: { probability: 1, operations: [operation] } });
      await command.rotate().catch(() => undefined);
      expect(world.active().length).toBeLessThanOrEqual(2);
      world.sandbox.setFaults(world.accountId);
      clock.advance(longMs);
      await command.rotate();
      await finish(command);
      const [left, ...unneeded] = activeIds(world);
      expect([await (await world.open()).tokenId(), unneeded]).toEqual([left, []]);
    },
    30_000,
  );

  it('cannot be replaced where the account has as many as it may have, and nothing is under way then', async () => {
    const world = await open();
    for (let count = 1; count < 25; count += 1) await world.makeToken();
    const command = await world.open();
    expect(await failureOf(command.rotate())).toMatchObject({ code: 'conflict', status: 409 });
    expect(await command.deps.rotations.find(world.accountId)).toBeUndefined();
    expect([world.active().length, await command.tokenId()]).toEqual([25, world.tokens()[0]?.id]);
  });

  it('is replaced once by two who do so at once', async () => {
    const { finish, ...world } = await open();
    const commands = await Promise.all([world.open(), world.open()]);
    const rotated = await Promise.all(commands.map((command) => command.rotate()));
    expect(rotated.map(({ wasUnderWay }) => wasUnderWay).sort()).toEqual([false, true]);
    expect(new Set(rotated.map(({ tokenId }) => tokenId)).size).toBe(1);
    expect(world.active()).toHaveLength(2);
    await finish(await world.open());
    expect(world.active()).toHaveLength(1);
  });

  it('of the same account is not replaced before the old one of another is revoked', async () => {
    const { finish, ...world } = await open();
    const other = await world.makeToken();
    const command = await world.open({ configured: { own: world.token, other: other.token } });
    await command.rotate();
    const by = { actor: 'ops', at: toInstant(new Date()) };
    const second = () => rotateToken(command.deps, 'other', { keep: [], by }, signal);
    expect((await failureOf(second())).message).toContain('Another token of the account is being replaced, for own');
    await finish(command);
    expect(await second()).toMatchObject({ replacedId: other.metadata.id });
  });

  it('that was changed by hand meanwhile stays, and the new one is revoked', async () => {
    const { finish, clock, ...world } = await open();
    world.sandbox.setFaults(world.accountId, { serverError: { probability: 1, operations: ['GET /contracts'] } });
    await failureOf((await world.open()).rotate());
    expect(world.active()).toHaveLength(2);
    world.sandbox.setFaults(world.accountId);
    const { token, metadata } = await world.makeToken();
    clock.advance(longMs);
    const bridge = await world.open({ configured: { own: token } });
    await finish(bridge);
    expect(await bridge.tokenId()).toBe(metadata.id);
    expect(activeIds(world)).toEqual([world.tokens()[0]?.id, metadata.id]);
  });

  it('of an install that is gone is cleared away by another install of the account', async () => {
    const { finish, clock, ...world } = await open();
    world.sandbox.setFaults(world.accountId, { serverError: { probability: 1, operations: ['GET /contracts'] } });
    const command = await world.open({ configured: { gone: world.token } });
    await failureOf(command.rotate());
    world.sandbox.setFaults(world.accountId);
    clock.advance(longMs);
    const { token, metadata } = await world.makeToken();
    const later = await world.open({ configured: { stays: token }, holders: ['stays'] });
    await finish(later);
    expect(activeIds(world)).toEqual([world.tokens()[0]?.id, metadata.id]);
  });

  it('is refused in a database from before the rotation, and what is known stays', async () => {
    const { finish, ...world } = await open();
    const command = await world.open();
    await command.rotate();
    await finish(command);
    await world.database.kysely.deleteFrom('tokenRotation').execute();
    const restored = (await world.open()).registry.sources.get('own');
    expect(await failureOf(restored?.listContracts({ status: 'active' }, signal))).toMatchObject({
      code: 'unauthenticated',
    });
    expect(restored?.remedies.tokenRefused('own')).toContain('if the database comes from a backup from before');
  });
});
