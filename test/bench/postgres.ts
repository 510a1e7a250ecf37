import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { withBenchDatabases } from './bench-database.ts';
import type { LoadOrder, LoadResult } from './load-process.ts';
import { type MeasuredProcess, type MeasuredProgram, openProgram } from './measured-program.ts';
import { percentile } from './percentile.ts';
import { openSoakTool, type SoakTool } from './soak-tool.ts';

/**
 * `npm run bench:postgres`: what one bridge and what two beside each other do on one PostgreSQL, which waits for the
 * disk. Deliveries answered a second by 64 connections, and people a second who are let into a tool of the adapter
 * `http` once they are hired all at once. Each has a database and real processes of its own; rounds alternate, and a
 * ratio is the median of the ratios of each round.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    hires: { type: 'string', default: '1000' },
    /** How long the tool takes for an answer. */
    answer: { type: 'string', default: '5' },
    folder: { type: 'string', default: '.' },
  },
});
const rounds = Number(values.rounds);
const hires = Number(values.hires);
const durationMs = Number(values.seconds) * 1000;
const connections = 64;
const distinctPerSecond = 6000;
const patienceMs = 180_000;
const secret = 'whsec_bench';
let nextFirst = 0;

interface Contender {
  name: string;
  tool: SoakTool;
  bridges: MeasuredProcess[];
  loads: ChildProcess[];
  /** A second. */
  answered: number[];
  letIn: number[];
}

await withBenchDatabases({ postgres: true, folder: values.folder, isDurable: true }, async ({ create }, folder) => {
  const program = await openProgram(path.resolve('.'), { GANGWAY_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') });
  const contenders: Contender[] = [];
  try {
    for (const count of [1, 2]) {
      contenders.push(await start(program, count, { url: await create(`with_${count}`), folder }));
    }
    for (let round = 0; round <= rounds; round += 1) {
      // The first round only warms up.
      for (const one of contenders) await measure(one, round > 0);
    }
    report(contenders);
  } finally {
    for (const { bridges, loads, tool } of contenders) {
      for (const load of loads) load.kill();
      for (const bridge of bridges) await bridge.stop();
      tool.close();
    }
  }
});

async function start(
  program: MeasuredProgram,
  count: number,
  { url, folder }: { url: string; folder: string },
): Promise<Contender> {
  const tool = await openSoakTool(Number(values.answer));
  const config = writeConfig(path.join(folder, `with-${count}.json`), url, tool.url);
  const bridges: MeasuredProcess[] = [];
  for (let number = 0; number < count; number += 1) bridges.push(await program.start(['--config', config]));
  const loads = bridges.map(() => fork(path.join(import.meta.dirname, 'load-process.ts')));
  return { name: `${count} instance${count === 1 ? '' : 's'}`, tool, bridges, loads, answered: [], letIn: [] };
}

function writeConfig(file: string, url: string, toolUrl: string): string {
  const limits = { deliveriesPerMinute: 1e9, bytesPerMinute: '999TiB', storedBytes: '999TiB' };
  const item = { path: '/groups/{group}/{trainerId}' };
  const config = {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', limits },
    console: { port: 0 },
    database: { url },
    // No server listens there: what is needed stands in the events.
    marketplace: { baseUrl: 'http://127.0.0.1:9/api/partner/v1' },
    reconcile: { schedule: '0 0 29 2 *' },
    usage: { schedule: '0 0 29 2 *' },
    installs: { acme: { token: 'ot_ptk_acme', webhookSecrets: [secret], tool: 'studio' } },
    tools: {
      studio: {
        adapter: 'http',
        url: toolUrl,
        token: 'tool-token',
        offboarding: 'locks_out',
        member: { id: 'id', email: 'email' },
        requests: {
          check: { path: '/' },
          find: { ...item, items: 'member', pages: 'none' },
          add: { ...item, method: 'PUT', item: 'member' },
          remove: { path: '/groups/{group}/{memberId}' },
        },
      },
    },
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function measure(contender: Contender, counts: boolean): Promise<void> {
  const { tool } = contender;
  const results = await sendLoad(contender, { trainers: 1000, durationMs });
  await untilQuiet(tool);
  const before = tool.members().length;
  const begunAt = performance.now();
  await sendLoad(contender, { trainers: 1e9, durationMs: patienceMs, count: hires });
  while (tool.members().length < before + hires) {
    if (performance.now() - begunAt > patienceMs) throw new Error(`${contender.name}: not all were let in`);
    await wait(5);
  }
  const letInMs = performance.now() - begunAt;
  await untilQuiet(tool);
  if (!counts) return;
  contender.answered.push(results.reduce((sum, { answered, seconds }) => sum + answered / seconds, 0));
  contender.letIn.push((hires * 1000) / letInMs);
}

/** Of what a turn has left to do, letting people in comes last. */
async function untilQuiet(tool: SoakTool): Promise<void> {
  const begunAt = performance.now();
  for (let calls = -1; calls !== tool.calls() && performance.now() - begunAt < patienceMs; await wait(3000)) {
    calls = tool.calls();
  }
}

/** Connections and requests are spread evenly over the instances. */
async function sendLoad(
  { bridges, loads }: Contender,
  wanted: Pick<LoadOrder, 'trainers' | 'durationMs' | 'count'>,
): Promise<LoadResult[]> {
  const share = (whole: number) => Math.ceil(whole / loads.length);
  const distinct = wanted.count === undefined ? (distinctPerSecond * durationMs) / 1000 : share(wanted.count);
  return await Promise.all(
    loads.map(async (load, index) => {
      const order: LoadOrder = {
        ...wanted,
        ...(wanted.count !== undefined && { count: share(wanted.count) }),
        port: Number(new URL(bridges[index]?.receiverUrl ?? '').port),
        path: '/webhooks/acme',
        secret,
        connections: share(connections),
        distinct,
        first: nextFirst,
      };
      nextFirst += distinct;
      load.send(order);
      const [result] = (await once(load, 'message')) as [LoadResult];
      const refused = Object.keys(result.statuses).filter((status) => status !== '200');
      if (refused.length > 0) throw new Error(`answered with ${refused.join(', ')}`);
      return result;
    }),
  );
}

function report(contenders: readonly Contender[]): void {
  const [one] = contenders;
  say('PostgreSQL        answered/s   ratio   let in/s   ratio');
  for (const { name, answered, letIn } of contenders) {
    const ratio = (all: readonly number[], base: readonly number[] = []) =>
      percentile(
        all.map((each, round) => each / (base[round] ?? 0)),
        0.5,
      )
        .toFixed(2)
        .padStart(6);
    const median = (all: readonly number[]) => percentile(all, 0.5).toFixed(0).padStart(9);
    say(
      `${name.padEnd(16)} ${median(answered)}  ${ratio(answered, one?.answered)}  ${median(letIn)}  ${ratio(letIn, one?.letIn)}`,
    );
  }
  say(`Medians of ${rounds} rounds; ratio: to one instance.`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
