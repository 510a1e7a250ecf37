import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { takeFreePort } from '../../src/cli/try-command.ts';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { type BridgeSetup, environmentOf, startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { programFile } from '../support/built-program.ts';
import { postgres } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { listRoster } from '../support/roster.ts';
import { until } from '../support/until.ts';
import { limitMs, tell } from './crash-runs.ts';

const run = promisify(execFile);

const [members, leaving] = [300, 25];

/** A marketplace with customers' contracts, and what a command or a bridge does with one database after another. */
async function openHistory() {
  const world = await openWorld();
  const port = await takeFreePort();
  await world.link('signs');
  const { secret } = await world.subscribe(`http://127.0.0.1:${port}/webhooks/acme`);
  const disk = createFolder();
  const setup = writeBridgeConfig(createFolder(), `sqlite:${path.join(disk, 'gangway.db')}`, world.baseUrl, {
    receiver: { host: '127.0.0.1', port, drain: '0s' },
    installs: { acme: { token: world.token, webhookSecrets: [secret], tool: 'list' } },
  });
  const active = new Map<string, string>();
  const roster = () => listRoster(setup.rosterFile);
  return {
    setup,
    disk,
    /** Hires so many, and ends as many contracts that began before. */
    async change(hired: number, ended: number): Promise<void> {
      for (const contract of [...active.keys()].slice(0, ended)) {
        world.sandbox.endContract(contract);
        active.delete(contract);
      }
      for (let count = 0; count < hired; count += 1) {
        const { contractId, trainers } = world.sandbox.hire({ jobId: world.jobId });
        active.set(contractId, `signs/${trainers[0]?.opentrainUserId}`);
      }
      await world.sandbox.idle();
    },
    untilRight: () =>
      until(
        'the members are those with a contract',
        () => roster().join(),
        (seen) => seen === [...active.values()].sort().join(),
      ),
    /** Fails the test if somebody whose contract goes on is ever out. */
    watch() {
      const staying = new Set(active.values());
      const missed = new Set<string>();
      const timer = setInterval(() => {
        const seen = new Set(roster());
        for (const one of staying) if (!seen.has(one)) missed.add(one);
      }, 20);
      onTestFinished(() => clearInterval(timer));
      return {
        ends: (count: number) => {
          for (const one of [...staying].slice(0, count)) staying.delete(one);
        },
        missed: () => [...missed],
      };
    },
  };
}

async function gangway({ configFile, databaseUrl }: BridgeSetup, ...args: string[]): Promise<string> {
  const env = environmentOf(databaseUrl);
  return (await run(process.execPath, [programFile, ...args, '--config', configFile], { env })).stdout;
}

/** Nobody has been in for an hour, so the brake holds what only a reading says. */
async function approveHeld(setup: BridgeSetup): Promise<void> {
  const listed = async () => JSON.parse(await gangway(setup, 'plans', 'list', '--json')) as { items: { id: number }[] };
  const { items } = await until('the removals are held', listed, ({ items: plans }) => plans.length > 0);
  for (const { id } of items) await gangway(setup, 'plans', 'approve', String(id));
}

function measure(): () => string {
  const began = performance.now();
  return () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
}

it('a disk that is gone is replaced by a backup, and nobody is wrongly out or left in', {
  timeout: limitMs,
}, async () => {
  const { setup, disk, change, untilRight, watch } = await openHistory();
  const bridge = await startBridge(setup);
  await change(members, 0);
  await untilRight();
  const backup = path.join(createFolder(), 'gangway.backup');
  await gangway(setup, 'backup', backup);
  const watched = watch();
  // What the backup does not know: some of it was done, and some of it nobody heard.
  watched.ends(leaving);
  await change(10, leaving - 5);
  await untilRight();
  await bridge.kill();
  rmSync(disk, { recursive: true });
  await change(10, 5);

  const whole = measure();
  await gangway(setup, 'restore', backup);
  const restored = whole();
  const second = await startBridge(setup);
  await approveHeld(setup);
  await untilRight();
  tell(`disaster: ${members} members were restored in ${restored}, and right ${whole()} after the disk was gone`);
  expect(watched.missed()).toEqual([]);
  expect(await second.stop()).toBe(0);
});

it('a bridge moves to PostgreSQL and back, and nobody is wrongly out or left in', { timeout: limitMs }, async () => {
  const { setup, disk, change, untilRight, watch } = await openHistory();
  const onPostgres = { ...setup, databaseUrl: await postgres.createEmpty() };
  const back = { ...setup, databaseUrl: `sqlite:${path.join(disk, 'again.db')}` };
  let bridge = await startBridge(setup);
  await change(members, 0);
  await untilRight();
  const watched = watch();
  watched.ends(10);
  for (const [from, to] of [
    [setup, onPostgres],
    [onPostgres, back],
  ] as const) {
    expect(await bridge.stop()).toBe(0);
    const whole = measure();
    await gangway(from, 'migrate', '--to', to.databaseUrl);
    const moved = whole();
    await change(5, 5);
    bridge = await startBridge(to);
    await approveHeld(to);
    await untilRight();
    const name = to.databaseUrl.replace(/:.*/, '');
    tell(`disaster: ${members} members were moved to ${name} in ${moved}, and right after ${whole()}`);
  }
  expect(watched.missed()).toEqual([]);
  expect(await bridge.stop()).toBe(0);
});
