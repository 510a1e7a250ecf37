import { expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { InstallRegistry } from '../../src/installs/install-registry.ts';
import { saveReplacement } from '../../src/installs/replaced-token-store.ts';
import { rotateToken } from '../../src/installs/rotate-token.ts';
import { toInstant } from '../../src/lib/clock.ts';
import type { Source } from '../../src/marketplace/source.ts';
import { failureOf } from '../marketplace/failure-of.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { openTokenWorld, ownAccountScopes, type Process, signal, type TokenWorld } from '../support/token-world.ts';

const dayMs = 86_400_000;
const leaseMs = 120_000;

describeEachDatabase('a token', (openFresh) => {
  async function open() {
    const clock = createFakeClock(new Date().toISOString());
    return { ...(await openTokenWorld(await openFresh(), clock)), clock };
  }

  const activeIds = ({ active }: Pick<TokenWorld, 'active'>) => active().map(({ id }) => id);

  it('is replaced by one with the needed scopes that lives as long, and the old one is revoked', async () => {
    const { clock, ...world } = await open();
    const expiresAt = toInstant(new Date(clock.now().getTime() + 30 * dayMs));
    const { token, metadata } = await world.makeToken({ expiresAt });
    const command = await world.open({ configured: { own: token } });
    clock.advance(10 * dayMs);
    const rotated = await command.rotate({ keep: ['payments:write'] });
    const scopes = [...ownAccountScopes, 'payments:write'];
    const renewedUntil = toInstant(new Date(clock.now().getTime() + 30 * dayMs));
    expect(rotated).toEqual({
      tokenId: await command.tokenId(),
      scopes,
      expiresAt: renewedUntil,
      replacedId: metadata.id,
    });
    expect(world.active().at(-1)).toMatchObject({ id: rotated.tokenId, scopes, expiresAt: renewedUntil });
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
    const stored = await world.database.kysely.selectFrom('replacedToken').selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain('ot_pat_');
    expect(stored.map(({ token: sealed }) => sealed.includes('ot_pat_'))).toEqual([false]);
  });

  it('is not replaced if it lacks a scope to keep, or belongs to a platform', async () => {
    const world = await open();
    const { token } = await world.makeToken({ scopes: ownAccountScopes });
    const command = await world.open({ configured: { own: token } });
    expect(await failureOf(command.rotate({ keep: ['payments:write'] }))).toMatchObject({ code: 'invalid' });
    expect(world.active()).toHaveLength(2);
    const platform = await world.open({ configured: { own: 'ot_ptk_1' }, source: 'platform' });
    const failure = await failureOf(platform.rotate());
    expect(failure.message).toContain('Only the token of your own account can be rotated');
  });

  it('of several installs is replaced for all of them, and for no other', async () => {
    const world = await open();
    const other = await world.makeToken();
    const configured = { own: world.token, same: world.token, other: other.token };
    const { tokenId } = await (await world.open({ configured })).rotate();
    const bridge = await world.open({ configured });
    const used = ['own', 'same', 'other'].map((install) => bridge.tokenId(install));
    expect(await Promise.all(used)).toEqual([tokenId, tokenId, other.metadata.id]);
  });

  it('of the configuration stays replaced after every rotation, until the operator configures another one', async () => {
    const world = await open();
    const { token, metadata } = await world.makeToken();
    await (await world.open()).rotate();
    const { tokenId } = await (await world.open()).rotate();
    expect(await (await world.open()).tokenId()).toBe(tokenId);
    expect(activeIds(world)).toEqual([metadata.id, tokenId]);
    expect(await (await world.open({ configured: { own: token } })).tokenId()).toBe(metadata.id);
  });

  it('of an install that was connected by command is replaced too, until it is connected with another one', async () => {
    const world = await open();
    const { token, metadata } = await world.makeToken();
    await world.connect('own', world.token);
    const { tokenId } = await (await world.open({ configured: {} })).rotate();
    expect(await (await world.open({ configured: {} })).tokenId()).toBe(tokenId);
    await world.connect('own', token);
    expect(await (await world.open({ configured: {} })).tokenId()).toBe(metadata.id);
  });

  it('is replaced in every running instance with its next request, and in a request that is under way', async () => {
    const world = await open();
    const bridge = await world.open();
    const source = bridge.registry.sources.get('own') as Source;
    const reading = { isOver: false, reads: 0 };
    const readers = Array.from({ length: 4 }, async () => {
      while (!reading.isOver) {
        await source.listContracts({ status: 'active' }, signal);
        reading.reads += 1;
      }
    });
    await (await world.open()).rotate();
    const { tokenId } = await (await world.open()).rotate();
    reading.isOver = true;
    await Promise.all(readers);
    expect(reading.reads).toBeGreaterThan(0);
    expect([await bridge.tokenId(), activeIds(world)]).toEqual([tokenId, [tokenId]]);
  });

  it.each<[string, keyof Source]>([
    ['that is created', 'call'],
    ['that is checked', 'listContracts'],
  ])('%s when the process dies is never used, and the next rotation revokes it', async (_, lastCall) => {
    const { clock, ...world } = await open();
    const first = await (await world.open()).tokenId();
    await expect(rotateUntil(await world.open(), lastCall)).rejects.toThrow(Killed);
    const [old, lost] = activeIds(world);
    expect([world.active().length, old, await (await world.open()).tokenId()]).toEqual([2, first, first]);

    expect(await failureOf((await world.open()).rotate())).toMatchObject({ code: 'conflict' });
    clock.advance(leaseMs);
    const { tokenId } = await (await world.open()).rotate();
    expect(tokenId).not.toBe(lost);
    expect([activeIds(world), await (await world.open()).tokenId()]).toEqual([[tokenId], tokenId]);
  });

  it('that is stored when the process dies is used, and the next rotation revokes the old one', async () => {
    const { clock, ...world } = await open();
    await expect(rotateUntil(await world.open(), 'save')).rejects.toThrow(Killed);
    const [old, stored] = activeIds(world);
    expect([world.active().length, await (await world.open()).tokenId()]).toEqual([2, stored]);
    clock.advance(leaseMs);
    const { tokenId, replacedId } = await (await world.open()).rotate();
    expect([replacedId, activeIds(world)]).toEqual([stored, [tokenId]]);
    expect(world.tokens().find(({ id }) => id === old)?.status).toBe('revoked');
  });

  it('stays in use where the new one is refused, and the new one is revoked', async () => {
    const world = await open();
    const first = await (await world.open()).tokenId();
    const command = await world.open();
    world.sandbox.setFaults(world.accountId, { forbidden: { probability: 1, operations: ['GET /contracts'] } });
    const failure = await failureOf(command.rotate());
    expect([failure.code, failure.message]).toEqual([
      'forbidden',
      expect.stringMatching(/^The new token could not be used, so own keeps its token: Could not list the contracts/),
    ]);
    expect([activeIds(world), await command.tokenId()]).toEqual([[first], first]);
    world.sandbox.setFaults(world.accountId);
    const { tokenId } = await command.rotate();
    expect([activeIds(world), await command.tokenId()]).toEqual([[tokenId], tokenId]);
  });

  it('whose revocation fails is named, and the next rotation revokes it', async () => {
    const world = await open();
    const first = await (await world.open()).tokenId();
    world.sandbox.setFaults(world.accountId, { forbidden: { probability: 1, operations: ['DELETE /tokens/{id}'] } });
    const failure = await failureOf((await world.open()).rotate());
    expect(failure.message).toContain(`but the old token ${first} could not be revoked`);
    expect(activeIds(world)).toEqual([first, await (await world.open()).tokenId()]);
    world.sandbox.setFaults(world.accountId);
    const { tokenId } = await (await world.open()).rotate();
    expect(activeIds(world)).toEqual([tokenId]);
  });

  it.each(['POST /tokens', 'GET /tokens', 'DELETE /tokens/{id}', 'GET /auth/me', 'GET /contracts'] as const)(
    'that works is in use though answers of %s are lost, and at most one other is left',
    async (operation) => {
      const world = await open();
      world.sandbox.setFaults(world.accountId, { cutOff: { probability: 1, operations: [operation] } });
      await failureOf((await world.open()).rotate());
      world.sandbox.setFaults(world.accountId);
      const used = await (await world.open()).tokenId();
      expect([activeIds(world).includes(used ?? ''), world.active().length <= 2]).toEqual([true, true]);
      const { tokenId } = await (await world.open()).rotate();
      expect([activeIds(world), await (await world.open()).tokenId()]).toEqual([[tokenId], tokenId]);
    },
    30_000,
  );

  it('is not replaced if the account has as many tokens as it may have', async () => {
    const world = await open();
    for (let count = 1; count < 25; count += 1) await world.makeToken();
    const command = await world.open();
    expect(await failureOf(command.rotate())).toMatchObject({ code: 'conflict', status: 409 });
    expect([world.active().length, await command.tokenId()]).toEqual([25, world.tokens()[0]?.id]);
  });

  it('is replaced once by two processes at the same time', async () => {
    const world = await open();
    const commands = await Promise.all([world.open(), world.open()]);
    const settled = await Promise.allSettled(commands.map((command) => command.rotate()));
    const [{ reason } = { reason: null }] = settled.filter(({ status }) => status === 'rejected') as {
      reason: unknown;
    }[];
    expect(reason).toMatchObject({ code: 'conflict' });
    expect(world.tokens()).toHaveLength(2);
    expect(activeIds(world)).toEqual([await (await world.open()).tokenId()]);
  });

  it('is not replaced by a process that was overtaken, whose new token is revoked', async () => {
    const world = await open();
    const { ctx, registry } = await world.open();
    const { by } = wishOf();
    let overtaken = '';
    const overtake = async () => {
      const { token, metadata } = await world.makeToken();
      overtaken = metadata.id;
      const next = { token, tokenId: overtaken, replacedId: world.tokens()[0]?.id ?? '' };
      const replacement = {
        original: world.token,
        before: undefined,
        next,
        install: 'own',
        scopes: ownAccountScopes,
        by,
      };
      expect(await saveReplacement(ctx, replacement)).toBe(true);
    };
    const database: Database = {
      ...ctx.database,
      async transact(work, isDurable) {
        // Only that the new token is used is durable.
        if (isDurable) await overtake();
        return await ctx.database.transact(work, isDurable);
      },
    };
    const failure = await failureOf(rotateToken({ ...ctx, database }, registry, 'own', wishOf(), signal));
    expect(failure.message).toContain('Another process rotated the token of own in the meantime');
    expect(await (await world.open()).tokenId()).toBe(overtaken);
    expect(world.tokens().map(({ status }) => status)).toEqual(['active', 'revoked', 'active']);
  });

  it('is refused in a database from before the rotation, and the remedy says why', async () => {
    const world = await open();
    await (await world.open()).rotate();
    await world.database.kysely.deleteFrom('replacedToken').execute();
    const restored = (await world.open()).registry.sources.get('own');
    expect(await failureOf(restored?.listContracts({ status: 'active' }, signal))).toMatchObject({
      code: 'unauthenticated',
    });
    expect(restored?.remedies.tokenRefused('own')).toContain(
      'perhaps by a rotation after the backup that the database was restored from',
    );
  });
});

class Killed extends AppError {
  constructor() {
    super('internal', 'killed');
  }
}

const wishOf = () => ({ keep: [], by: { actor: 'ops', at: toInstant(new Date()) } });

/** Rotates in a process that dies after this call, and does nothing more. Its lock stays until its lease ends. */
async function rotateUntil({ ctx, registry }: Process, lastCall: keyof Source | 'save'): Promise<void> {
  let isDead = false;
  const mortal = <T extends object>(parts: T): T =>
    new Proxy(parts, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...given: unknown[]) => {
          if (isDead) throw new Killed();
          const answer: unknown = await member.apply(target, given);
          isDead = name === lastCall;
          if (isDead) throw new Killed();
          return answer;
        };
      },
    });
  const { database } = ctx;
  const dying: Context = {
    ...ctx,
    database: {
      ...database,
      async transact(work, isDurable) {
        if (isDead) throw new Killed();
        const answer = await database.transact(work, isDurable);
        isDead = isDurable && lastCall === 'save';
        if (isDead) throw new Killed();
        return answer;
      },
    },
  };
  const mortalRegistry: InstallRegistry = {
    ...registry,
    openWith: (...given) => mortal(registry.openWith(...given)),
  };
  await rotateToken(dying, mortalRegistry, 'own', wishOf(), signal);
}
