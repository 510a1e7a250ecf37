import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ask, forkScript, say, startTable } from './bench.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';
import { fillInbox } from './fill-inbox.ts';
import type { LoadOrder, LoadResult } from './load-process.ts';
import { percentile } from './percentile.ts';
import { type FunctionTime, toProfileLines } from './profile.ts';

/**
 * `npm run bench:receive`: what receiving costs, side by side in one run.
 *
 * The same load (64 connections, bodies of about 800 bytes, each signed and sent once) goes in turn
 * to bare `node:http`, to Express that reads the body, to Express that reads and verifies, to one that
 * also commits each request, to `@octokit/webhooks`, to Debian's `webhook`, and to Gangway
 * (on the disk before the answer, engine running): with an empty inbox, with a full one, and while retention purges
 * it. Rounds alternate, so that a noisy machine is noisy for all, and a ratio is the median of the ratios
 * of each round. `--full <file>` takes an inbox that was filled before.
 *
 * `--hiring` compares only Express that verifies with a Gangway that hires meanwhile: each delivery is a new contract of one
 * of 5,000 people.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '5000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    folder: { type: 'string', default: '.' },
    full: { type: 'string' },
    hiring: { type: 'boolean', default: false },
  },
});
const rows = Number(values.rows);
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
const secret = 'whsec_bench';
const connections = 64;
const distinctPerSecond = 12_000;
const warmUpRounds = 3;
const baseline = 'express, reads + verifies';
let nextFirst = 0;

const load = forkScript('load-process.ts');
const work = values.hiring ? hire : main;
await withBenchDatabases({ postgres: false, folder: values.folder }, work).finally(() => load.kill());

async function hire({ create }: BenchDatabase): Promise<void> {
  report(
    await compare([
      [baseline, ['verify']],
      ['gangway, hiring', ['gangway', await create('hiring')]],
    ]),
  );
  await reportProfile(['gangway', await create('profile')]);
}

async function main({ create }: BenchDatabase): Promise<void> {
  const full = values.full === undefined ? await create('full') : `sqlite:${values.full}`;
  if (values.full === undefined) {
    say(`Filling an inbox with ${rows.toLocaleString('en')} deliveries …`);
    await fillInbox(full, rows, { firstDaysAgo: 29 });
  }

  const contenders: [name: string, args: string[]][] = [
    ['bare node:http', ['bare']],
    ['express, reads', ['read']],
    [baseline, ['verify']],
    ['express, commits each', ['commit', await create('commit')]],
    ['@octokit/webhooks', ['octokit']],
    ['gangway, empty inbox', ['gangway', await create('empty')]],
    [`gangway, ${rows.toLocaleString('en')} rows`, ['gangway', full]],
    ["debian's webhook", ['debian']],
  ];
  report(await compare(contenders));
  // Purging goes on between rounds too, so whoever does it is measured when the others are done.
  const purging: typeof contenders = [
    [baseline, ['verify']],
    ['gangway, while it purges', ['gangway', full, '1d']],
  ];
  report(await compare(purging));
  await reportProfile(['gangway', await create('profile')]);
  say('');
  say(`${'at 100/s, in ms'.padEnd(28)}  answer: p50, p99, max         adapter call: p50, p99, max`);
  await reportAtModerateRate('gangway, empty inbox', ['gangway', await create('fresh')]);
  // What the rounds left to do stands before these hires, so their calls say nothing.
  await reportAtModerateRate('gangway, while it purges', ['gangway', full, '1d'], false);
}

/** All are up and warm before the first round; in each round, all take their turn. */
async function compare(contenders: [string, string[]][]): Promise<Map<string, Run[]>> {
  const running: (Started & { name: string })[] = [];
  for (const [name, args] of contenders) {
    const started = await startServer(args);
    if ('notRun' in started) say(`${name}: not run, as ${started.notRun}`);
    else running.push({ name, ...started });
  }
  const results = new Map<string, Run[]>(running.map(({ name }) => [name, []]));
  for (const one of running) {
    for (let round = 0; round < warmUpRounds; round += 1) await measure(one);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const one of running) results.get(one.name)?.push(await measure(one));
  }
  for (const { server } of running) await stop(server);
  return results;
}

interface Run extends LoadResult {
  /** Of all threads of the server; NaN where it is no process of ours. */
  processorUsEach: number;
}

async function measure({ server, port, kind }: Started): Promise<Run> {
  const before = await askProcessor(server);
  const result = await sendLoad(port, isOfGithub(kind) ? { signedAs: 'github' } : {});
  const usedUs = (await askProcessor(server)) - before;
  await letSettle(server);
  return { ...result, processorUsEach: kind === 'debian' ? Number.NaN : usedUs / result.answered };
}

/** What a server has left to do after its turn must not take from those that come next. */
async function letSettle(server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    const before = await askProcessor(server);
    await wait(250);
    if ((await askProcessor(server)) - before < 25_000) return;
  }
}

async function askProcessor(server: ChildProcess): Promise<number> {
  return await ask(server, 'processor');
}

function isOfGithub(kind: string): boolean {
  return kind === 'octokit' || kind === 'debian';
}

interface Started {
  kind: string;
  server: ChildProcess;
  port: number;
}

async function startServer([kind = '', ...rest]: string[]): Promise<Started | { notRun: string }> {
  const server = forkScript('receive-server.ts', [kind, secret, ...rest]);
  const [told] = (await once(server, 'message')) as [{ port: number } | { notRun: string }];
  if ('port' in told) return { kind, server, port: told.port };
  await stop(server);
  return told;
}

async function sendLoad(port: number, changes: Partial<LoadOrder>): Promise<LoadResult> {
  const distinct = Math.ceil((distinctPerSecond * durationMs) / 1000);
  const order: LoadOrder = {
    port,
    path: '/webhooks/acme',
    secret,
    connections,
    durationMs,
    distinct,
    first: nextFirst,
    trainers: values.hiring ? 5000 : 1000,
    isHiring: values.hiring,
    ...changes,
  };
  nextFirst += distinct;
  const result = await ask<LoadResult>(load, order);
  const refused = Object.keys(result.statuses).filter((status) => status !== '200');
  if (refused.length > 0) throw new Error(`answered with ${refused.join(', ')}`);
  return result;
}

async function stop(server: ChildProcess): Promise<void> {
  server.disconnect();
  await once(server, 'exit');
}

function report(results: Map<string, Run[]>): void {
  const rate = (result: LoadResult) => result.answered / result.seconds;
  const base = (results.get(baseline) ?? []).map(rate);
  say('');
  const print = startTable(27, ['requests/s', 'ratio', 'p50 ms', 'p99 ms', 'max ms', "load's core", 'processor']);
  for (const [name, runs] of results) {
    const median = (of: (run: Run, round: number) => number, digits = 0) =>
      percentile(runs.map(of), 0.5).toFixed(digits);
    const processor = median(({ processorUsEach }) => processorUsEach);
    print(name, [
      median(rate),
      median((run, round) => rate(run) / (base[round] ?? 0), 2),
      median(({ p50 }) => p50, 2),
      median(({ p99 }) => p99, 2),
      median(({ max }) => max, 1),
      `${median(({ cpuShare }) => cpuShare * 100)} %`,
      processor === 'NaN' ? '-' : `${processor} µs`,
    ]);
  }
  say(`Medians of ${rounds} rounds; ratio: to Express that reads and verifies; processor: of the server, for each.`);
}

/**
 * At 100 a second, which is far more than a marketplace sends: how long an answer takes, and how
 * long it is from sending a request to the call that adds its trainer to the tool.
 */
async function reportAtModerateRate(name: string, args: string[], hasCalls = true): Promise<void> {
  const started = await startServer(args);
  if ('notRun' in started) throw new Error(started.notRun);
  const { server, port } = started;
  const seconds = 10;
  const order = {
    ratePerSecond: 100,
    connections: 8,
    distinct: 100 * seconds + 100,
    trainers: 1e9,
    durationMs: seconds * 1000,
  };
  const warm = await sendLoad(port, order);
  const { sentAt, p50, p99, max } = await sendLoad(port, order);
  const trainers = Object.keys(sentAt);
  const count = trainers.length + Object.keys(warm.sentAt).length;
  const calls = hasCalls ? await waitForCalls(server, count) : {};
  await stop(server);
  const latencies = trainers.map((trainer) => (calls[trainer] ?? Number.POSITIVE_INFINITY) - (sentAt[trainer] ?? 0));
  const toText = (numbers: number[]) => numbers.map((number) => number.toFixed(1).padStart(7)).join('  ');
  const callText = hasCalls ? `     ${toText([0.5, 0.99, 1].map((share) => percentile(latencies, share)))}` : '';
  say(`${name.padEnd(28)}  ${toText([p50, p99, max])}${callText}`);
}

/** Where the thread that answers spends its time. */
async function reportProfile(args: string[]): Promise<void> {
  const started = await startServer(args);
  if ('notRun' in started) throw new Error(started.notRun);
  for (let round = 0; round < warmUpRounds; round += 1) await measure(started);
  await ask(started.server, 'profile');
  const { answered } = await sendLoad(started.port, {});
  const times = await ask<FunctionTime[]>(started.server, 'profile');
  await stop(started.server);
  say('');
  say('The thread that answers, for each delivery:');
  for (const line of toProfileLines(times, answered, 20)) say(line);
}

async function waitForCalls(server: ChildProcess, count: number): Promise<Record<string, number>> {
  for (let tries = 0; ; tries += 1) {
    const calls = await ask<Record<string, number>>(server, 'calls');
    if (Object.keys(calls).length >= count || tries >= 200) return calls;
    await wait(50);
  }
}
