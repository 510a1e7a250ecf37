import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { acmeSecret, type BridgeProcess, startBridge } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { sqlite } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { createRandom } from '../support/random.ts';
import { createSender } from '../support/sender.ts';
import { startTraffic, type Traffic } from '../support/traffic.ts';
import { kills, limitMs, seed, tell } from './crash-runs.ts';
import { type CrashWorld, openCrashWorld, untilAnswered } from './crash-world.ts';
import { examine, readSqliteLog, type SqliteLog, writeWithLog } from './sqlite-log.ts';

const tears = kills * 10;
const longestLifeMs = 2000;
/** With fewer, the log was just moved into the database file. */
const fewestCommits = 20;

describe(`a torn SQLite log (seed ${seed})`, () => {
  it(
    `loses only what came after its last complete commit, ${tears} times`,
    async () => {
      const random = createRandom(seed);
      const { log, leave } = await killAtWork(random);
      const whole = examine(leave(log.bytes));
      expect(whole).toMatchObject({ frames: log.commits.at(-1), faults: [] });
      const ends = new Set<number>();
      for (let count = 0; count < tears; count += 1) {
        const { bytes, offset } = tear(log, random);
        const { frames, faults, deliveries } = examine(leave(bytes));
        expect({ frames, faults }).toEqual({ frames: log.wholeBefore(offset), faults: [] });
        expect(deliveries).toEqual(whole.deliveries.slice(0, deliveries.length));
        ends.add(log.wholeBefore(offset));
      }
      tell(`${tears} torn logs, which ended after ${ends.size} of ${log.commits.length} commits`);
    },
    limitMs,
  );

  it(
    'leaves everybody where they belong if the lost commits had not been waited for',
    async () => {
      // Otherwise nothing would be lost.
      const isMoreThanDurable = (killed: Torn) => findDurable(killed) < (killed.log.commits.at(-1) ?? 0);
      const { world, traffic, log, leave } = await killAtWork(createRandom(seed), { isOfUse: isMoreThanDurable });
      const durable = findDurable({ log, leave });
      const bridge = await startOn(world, leave(upTo(log, durable)));
      await world.expectRight(openBridgeState(bridge.databaseUrl), traffic);
      expect(await bridge.stop()).toBe(0);
      const lost = log.commits.filter((frames) => frames > durable);
      tell(`${lost.length} of ${log.commits.length} commits lost, none of them waited for`);
    },
    limitMs,
  );

  it(
    'leaves everybody where they belong after deliveries are repeated, if a disk had lied about commits',
    async () => {
      // The records that people are ours are lost too, so the domain has to say it.
      const { world, log, leave } = await killAtWork(createRandom(seed), { managedDomains: ['opentrain.work'] });
      const [moved = 0] = log.commits;
      const sent = await bodiesIn(leave(log.bytes));
      const bridge = await startOn(world, leave(upTo(log, moved)));
      const state = openBridgeState(bridge.databaseUrl);
      const sender = createSender(acmeSecret, 1);
      const isStart = (body: string) => (JSON.parse(body) as { type: string }).type === 'contract.started';
      // Starts first: a contract that starts and ends at once is never looked for, and no record says its people were let in.
      for (const bodies of [sent.filter(isStart), sent.filter((body) => !isStart(body))]) {
        for (const body of bodies) {
          expect(await sender.send(bridge.url, body, `again-${sent.indexOf(body)}`)).toMatchObject({ status: 200 });
        }
        await state.settled();
      }
      await world.expectRight(state, { answered: new Set(sent) });
      expect(await bridge.stop()).toBe(0);
      tell(`${log.commits.length} commits lost, ${sent.length} deliveries sent again`);
    },
    limitMs,
  );
});

interface Torn {
  log: SqliteLog;
  /** @returns a new copy of the database file with these bytes as its log */
  leave(bytes: Buffer): string;
}

interface Killing {
  managedDomains?: string[];
  /** If not, the bridge is started and killed again. */
  isOfUse?: (killed: Torn) => boolean;
}

interface Killed extends Torn {
  world: CrashWorld;
  traffic: Traffic;
}

/** The log holds only work from after the people who stay were hired. */
async function killAtWork(
  random: () => number,
  { managedDomains = [], isOfUse = () => true }: Killing = {},
): Promise<Killed> {
  const databaseUrl = await sqlite.createMigrated();
  const file = databaseUrl.slice('sqlite:'.length);
  const leave = (bytes: Buffer) => writeWithLog(file, path.join(createFolder(), 'gangway.db'), bytes);
  const world = await openCrashWorld(databaseUrl, managedDomains);
  const first = await startBridge(world.setup);
  await world.hireForGood(first.url);
  // The last process to close a database empties its log.
  expect(await first.stop()).toBe(0);
  const traffic = startTraffic(random, first.url);
  for (;;) {
    const bridge = await startBridge(world.setup);
    traffic.sendTo(bridge.url);
    await untilAnswered(traffic);
    await wait(random() * longestLifeMs);
    await bridge.kill();
    const log = readSqliteLog(file);
    if (log === null || log.commits.length < fewestCommits || !isOfUse({ log, leave })) continue;
    await traffic.stop();
    return { world, traffic, log, leave };
  }
}

/**
 * Cuts the log, changes a byte, or replaces the rest with zeros.
 *
 * @returns the bytes, and the offset of the first one that changed
 */
function tear({ bytes, commits, offsetOf }: SqliteLog, random: () => number): { bytes: Buffer; offset: number } {
  const [begin, end] = [offsetOf(commits[0] ?? 0), offsetOf(commits.at(-1) ?? 0)];
  const offset = begin + Math.floor(random() * (end - begin));
  const kind = random();
  if (kind < 1 / 2) return { bytes: bytes.subarray(0, offset), offset };
  const torn = Buffer.from(bytes);
  if (kind < 3 / 4) {
    torn.writeUInt8(torn.readUInt8(offset) ^ (1 + Math.floor(random() * 255)), offset);
    return { bytes: torn, offset };
  }
  torn.fill(0, offset);
  // Many pages end in zeros anyway.
  const changed = bytes.findIndex((byte, at) => at >= offset && byte !== 0);
  return { bytes: torn, offset: changed < 0 ? bytes.length : changed };
}

function upTo({ bytes, offsetOf }: SqliteLog, frames: number): Buffer {
  return bytes.subarray(0, offsetOf(frames));
}

/** The number of frames that hold everything that was made durable before an answer or a call. */
function findDurable({ log, leave }: Torn): number {
  const whole = examine(leave(log.bytes));
  const isThere = (frames: number) => {
    const { deliveries, intents } = examine(leave(upTo(log, frames)));
    return deliveries.length === whole.deliveries.length && intents.length === whole.intents.length;
  };
  const lacking = log.commits.findLast((frames) => !isThere(frames)) ?? -1;
  return log.commits.find((frames) => frames > lacking) ?? 0;
}

async function bodiesIn(file: string): Promise<string[]> {
  return (await openBridgeState(`sqlite:${file}`).stored()).map(({ body }) => body);
}

async function startOn({ setup }: CrashWorld, file: string): Promise<BridgeProcess & { databaseUrl: string }> {
  const databaseUrl = `sqlite:${file}`;
  return { ...(await startBridge({ ...setup, databaseUrl, args: ['--move'] })), databaseUrl };
}
