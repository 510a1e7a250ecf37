import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createHeartbeat } from '../../../src/db/heartbeat.ts';
import { createInstanceStore } from '../../../src/db/instance-store.ts';
import { resumeRotation } from '../../../src/installs/tokens/rotate-token.ts';
import { systemClock, toInstant } from '../../../src/lib/clock.ts';
import type { Source } from '../../../src/sources/source.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { openTokenWorld, type Process, signal, type TokenWorld } from '../../support/token-world.ts';
import { describeAnyDatabase, isThorough } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

/** A request that takes longer is late on any machine; the old token is kept for that long after it was last fresh. */
const times = { freshForMs: 500, drainMs: 3000 };
/** Two at least: then a token that replaced one is replaced itself. */
const rotations = isThorough ? 3 : 2;
const restMs = 10;

/**
 * Reads all the time until it is stopped, with rests in which the others of this process get on.
 *
 * @param name of an instance; a long command has none, and no list knows it
 */
async function startReading(world: TokenWorld, name?: string) {
  const process = await world.open(times);
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let reads = 0;
  const read = async () => {
    const source = process.registry.sources.get('own') as Source;
    await source.listContracts({ status: 'active' }, signal);
    await source.readUpdates?.(null, signal);
    reads += 1;
    await wait(restMs);
  };
  const repeat = async (work: () => Promise<unknown>) => {
    while (!stopping.signal.aborted) await work().catch((error: unknown) => failures.push(error));
  };
  const beating = name === undefined ? [] : [repeat(() => beat(world, process, name))];
  const looping = [repeat(read), ...beating];
  const stop = async () => {
    stopping.abort();
    await Promise.all(looping);
  };
  onTestFinished(stop);
  return { failures, stop, reads: () => reads };
}

/** As its heartbeat does, with what it has seen at its last look. */
async function beat({ database }: TokenWorld, { registry }: Process, id: string): Promise<void> {
  await registry.load();
  const now = Date.now();
  const beatAt = toInstant(new Date(now));
  const installsLoadedAt = toInstant(new Date(now - Math.ceil(registry.tokens.ageMs())));
  const instance = { id, name: id, version: '0.1.0', startedAt: beatAt, beatAt, installsLoadedAt };
  await createInstanceStore(database).beat(instance, '');
  await wait(50);
}

describeAnyDatabase('a rotation under load', (openFresh) => {
  it('has no request refused, and revokes each old token after the last request with it', async () => {
    const world = await openTokenWorld(await openFresh());
    const readers = await Promise.all(['bridge-1', 'bridge-2', undefined].map((name) => startReading(world, name)));
    for (let count = 0; count < rotations; count += 1) {
      const command = await world.open(times);
      await command.rotate();
      expect(await command.finish()).toBe(true);
    }
    await until(
      'all have read often',
      () => readers.map(({ reads }) => reads()),
      (counts) => counts.every((count) => count > 20),
    );
    await Promise.all(readers.map(({ stop }) => stop()));

    expect(readers.flatMap(({ failures }) => failures)).toEqual([]);
    expect(readers.every(({ reads }) => reads() > 20)).toBe(true);
    const tokens = world.tokens();
    expect(tokens.map(({ status, refused }) => [status, refused])).toEqual([
      ...Array.from({ length: rotations }, () => ['revoked', 0]),
      ['active', 0],
    ]);
    for (const { lastUsedAt, revokedAt } of tokens.slice(0, rotations)) {
      expect([lastUsedAt, (lastUsedAt ?? '') <= (revokedAt ?? '')]).toEqual([lastUsedAt, true]);
    }
  });

  it('waits for an instance that lives and has not seen the new token, and for no dead one', async () => {
    const clock = createFakeClock(new Date().toISOString());
    const world = await openTokenWorld(await openFresh(), clock);
    const beatOf = (id: string, agoMs: number) => {
      const at = toInstant(new Date(clock.now().getTime() - agoMs));
      const instance = { id, name: id, version: '0.1.0', startedAt: at, beatAt: at, installsLoadedAt: at };
      return createInstanceStore(world.database).beat(instance, '');
    };
    await beatOf('dead', 60_000);
    await beatOf('alive', 0);
    const command = await world.open({ drainMs: 0 });
    await command.rotate();
    const rotation = await command.deps.rotations.find(world.accountId);
    await resumeRotation(command.deps, world.accountId, signal);
    // It looks again in a while.
    expect(await command.deps.rotations.find(world.accountId)).toMatchObject({ step: 'draining', failure: null });
    expect(await command.deps.rotations.listDue(toInstant(clock.now()))).toEqual([]);
    expect(world.active()).toHaveLength(2);
    clock.advance(10_000);
    await beatOf('alive', 0);
    expect(await command.finish()).toBe(true);
    expect(world.active().map(({ id }) => id)).toEqual([rotation?.tokenId]);
  });

  it('is told by the heartbeat what an instance has seen', async () => {
    const { database } = await openTokenWorld(await openFresh());
    const { logger } = createLogLines();
    const heartbeat = createHeartbeat({ database, clock: systemClock, logger, installsAgeMs: () => 5000 });
    await heartbeat.start();
    onTestFinished(() => heartbeat.stop());
    const [instance] = await createInstanceStore(database).list();
    const age = Date.parse(instance?.beatAt ?? '') - Date.parse(instance?.installsLoadedAt ?? '');
    expect(age).toBeGreaterThan(4000);
  });
});
