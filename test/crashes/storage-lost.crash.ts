import { execFileSync } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, openSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acmeSecret, startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { sqlite } from '../support/databases.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createFolder } from '../support/folder.ts';
import { createRandom } from '../support/random.ts';
import { listRoster } from '../support/roster.ts';
import { createSender } from '../support/sender.ts';
import { until } from '../support/until.ts';
import { kills, limitMs, seed, tell } from './crash-runs.ts';
import { expectWholeFile, openBusyWorld, untilAnswered } from './crash-world.ts';

const losses = Math.ceil(kills / 4);
const longestPauseMs = 1000;
/** Enough refusals to rule out a coincidence. */
const refusals = 20;
const diskSize = '256m';

/** A place for a database that can be made unwritable for a while. */
interface Place {
  databaseUrl: string;
  /** Called repeatedly, because a database may still have room within its own files. */
  spoil(): void;
  mend(): void;
}

describe(`a bridge whose storage fails (seed ${seed})`, () => {
  it.for([
    ['a disk is full', openSmallDisk],
    ['its files cannot be written', openLockableFiles],
  ] as const)(
    `removes nobody, refuses deliveries, and recovers by itself: ${losses} times %s`,
    { timeout: limitMs },
    async ([name, openPlace], { skip }) => {
      const place = await openPlace();
      if (place === null) return skip();
      const random = createRandom(seed);
      const { world, traffic, expectRight } = await openBusyWorld(place.databaseUrl, random);
      for (let count = 0; count < losses; count += 1) {
        await untilAnswered(traffic);
        await wait(random() * longestPauseMs);
        const failed = traffic.countFailed();
        const refused = () => {
          place.spoil();
          return traffic.countFailed() - failed;
        };
        await until('deliveries are refused', refused, (seen) => seen >= refusals);
        world.expectKept();
        place.mend();
      }
      const state = await expectRight();
      expect([...traffic.refusedWith]).toEqual([503]);
      await expectWholeFile(state.database);
      tell(`${losses} times ${name}: ${traffic.answered.size} deliveries, ${traffic.countFailed()} refused`);
    },
  );
});

it('a bridge on a nearly full disk only stores deliveries, and goes on once there is room', {
  timeout: limitMs,
}, async ({ skip }) => {
  const folder = mountSmallDisk();
  if (folder === null) return skip();
  const setup = writeBridgeConfig(createFolder(), await createIn(folder));
  const bridge = await startBridge(setup);
  const ballast = path.join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(Math.floor(statfsSync(folder).bavail * 4096 * 0.99)));
  const says = (alert: string) => bridge.log().some((line) => line['alert'] === alert);
  await until('it says so', () => says('disk_full'), Boolean);
  const createdAt = new Date().toISOString();
  const hired = fullEvent({ type: 'contract.started', createdAt });
  expect(await createSender(acmeSecret, 1).send(bridge.url, hired, 'd1')).toMatchObject({ said: 'accepted' });
  // Twice as long as every loop rests.
  await wait(10_000);
  expect(listRoster(setup.rosterFile)).toEqual([]);
  expect((await fetch(`${bridge.consoleUrl}/healthz`)).status).toBe(200);
  rmSync(ballast);
  await until(
    'they are in',
    () => listRoster(setup.rosterFile).length,
    (count) => count === 1,
  );
  expect(await bridge.stop()).toBe(0);
});

/** Small, but larger than what is written between two checks of SQLite's log. */
async function openSmallDisk(): Promise<Place | null> {
  const folder = mountSmallDisk();
  if (folder === null) return null;
  const ballast = path.join(folder, 'ballast');
  return {
    databaseUrl: await createIn(folder),
    spoil: () => fill(ballast),
    mend: () => rmSync(ballast),
  };
}

function mountSmallDisk(): string | null {
  const folder = createFolder();
  if (!tryRun('mount', ['-t', 'tmpfs', '-o', `size=${diskSize}`, 'tmpfs', folder])) return null;
  onTestFinished(() => void tryRun('umount', ['--lazy', folder]));
  return folder;
}

const page = Buffer.alloc(4096);

function fill(file: string): void {
  const descriptor = openSync(file, 'a');
  try {
    for (;;) writeSync(descriptor, page);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Immutable files: unlike `chmod`, that stops root too. */
async function openLockableFiles(): Promise<Place | null> {
  const databaseUrl = await createIn(createFolder(tmpdir()));
  const file = databaseUrl.slice('sqlite:'.length);
  const set = (flag: '+i' | '-i') => tryRun('chattr', [flag, ...[file, `${file}-wal`].filter(existsSync)]);
  if (!set('+i')) return null;
  set('-i');
  onTestFinished(() => void set('-i'));
  return { databaseUrl, spoil: () => void set('+i'), mend: () => void set('-i') };
}

async function createIn(folder: string): Promise<string> {
  const file = path.join(folder, 'gangway.db');
  copyFileSync((await sqlite.createMigrated()).slice('sqlite:'.length), file);
  return `sqlite:${file}`;
}

/** @returns whether this machine allows it */
function tryRun(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'pipe' });
    return true;
  } catch (error) {
    tell(`*** NOT RUN: ${command} is not possible here: ${(error as Error).message.trim()} ***`);
    return false;
  }
}
