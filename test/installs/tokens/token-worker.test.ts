import { expect, it, onTestFinished } from 'vitest';
import { createTokenWorker } from '../../../src/installs/tokens/token-worker.ts';
import { createAlerts } from '../../../src/lib/alerts.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { openTokenWorld, type Process } from '../../support/token-world.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const dayMs = 86_400_000;

describeAnyDatabase('a running bridge', (openFresh) => {
  async function open() {
    const clock = createFakeClock(new Date().toISOString());
    const world = await openTokenWorld(await openFresh(), clock);
    const start = ({ deps, registry }: Process) => {
      const alerts = createAlerts(deps.logger, createMetrics());
      const worker = createTokenWorker({ ...deps, sources: registry.sources, alerts, pollMs: 10 });
      onTestFinished(() => worker.stop());
      worker.start();
    };
    const replaced = () => world.tokens().filter(({ name }) => name.startsWith('Gangway'));
    return { ...world, clock, start, replaced };
  }

  it('replaces a token before it expires by one that may do the same and lives as long, and revokes the old', async () => {
    const { clock, start, replaced, ...world } = await open();
    const lifeMs = 30 * dayMs;
    const expiresAt = new Date(clock.now().getTime() + lifeMs).toISOString();
    const { token, metadata } = await world.makeToken({ expiresAt });
    const instances = await Promise.all([0, 1].map(() => world.open({ configured: { own: token } })));
    for (const instance of instances) start(instance);
    clock.advance(23 * dayMs - 60_000);
    await until(
      'it was looked at',
      () => world.tokens(),
      ([, used]) => used?.lastUsedAt === clock.now().toISOString(),
    );
    expect(replaced()).toEqual([]);

    clock.advance(3_600_000);
    const rotation = () => world.database.kysely.selectFrom('tokenRotation').select('step').executeTakeFirst();
    await until('it is replaced', rotation, (one) => one?.step === 'draining');
    clock.advance(60_000);
    const old = () => world.tokens().find(({ id }) => id === metadata.id);
    await until('the old one is revoked', old, (one) => one?.status === 'revoked');
    const [made, ...more] = replaced();
    expect(more).toEqual([]);
    expect(made).toMatchObject({ status: 'active', scopes: old()?.scopes });
    expect(Date.parse(made?.expiresAt ?? '') - Date.parse(made?.createdAt ?? '')).toBe(lifeMs);
    const acts = world.database.kysely.selectFrom('audit').select(['actor', 'origin', 'action']);
    expect(await acts.execute()).toEqual([{ actor: 'gangway', origin: 'expiry', action: 'token rotate' }]);
  });

  it('revokes the old token after a command that was cut short', async () => {
    const { clock, start, ...world } = await open();
    const command = await world.open();
    const { tokenId } = await command.rotate();
    start(await world.open());
    clock.advance(120_000);
    await until('one is left', world.active, ({ length }) => length === 1);
    expect(world.active()[0]?.id).toBe(tokenId);
  });
});
