import { execFileSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { readDatabaseSize } from '../../src/db/sqlite-file.ts';
import { openSecondMarketplace, type SecondMarketplace } from '../support/second-marketplace/second-marketplace.ts';
import { withBenchDatabases } from './bench-database.ts';
import { type DiskProbe, openDiskProbe } from './disk-probe.ts';
import { fillInbox } from './fill-inbox.ts';
import { type MeasuredProcess, openProgram } from './measured-program.ts';
import { percentile } from './percentile.ts';
import { openSoakTool, type SoakTool } from './soak-tool.ts';
import { createSoakTraffic, type Project, type SoakTraffic } from './soak-traffic.ts';
import { describeSlow, judgeSamples, type Sample, type Verdict } from './soak-verdict.ts';

/**
 * `npm run bench:soak -- --minutes 60 --rate 200`: one real bridge for that long, with people who are hired and whose
 * contracts end, readings of the marketplace each minute, work that is read and reported, and retention that deletes as
 * much as comes: the inbox begins with what came in at the same rate a day ago, which is as long as deliveries are kept.
 *
 * Each ten seconds a line of `--csv`; at the end a verdict in Markdown, on stdout and in `--out`. Ends with 1 where
 * something that was acknowledged is lost, the people in the tool are not those with a contract, or memory or file grow.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '200' },
    /** Of the rate: contracts that begin each second. */
    hires: { type: 'string', default: '5' },
    /** How many go on at once. */
    active: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    database: { type: 'string', default: 'sqlite' },
    csv: { type: 'string', default: 'soak.csv' },
    out: { type: 'string', default: 'soak.md' },
    folder: { type: 'string', default: '.' },
  },
});
const minutes = Number(values.minutes);
const rate = Number(values.rate);
const secret = 'whsec_bench';
const key = Buffer.alloc(32, 7);
const sampleEveryMs = 10_000;
const purgeIntervalMinutes = 10;
const patienceMs = 10 * 60_000;
const projectCount = 20;
/** Of the p99: far above what is usual. */
const slowMs = 150;
/** What the image sets for every process. */
const ofImage = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

await withBenchDatabases(
  { postgres: values.database === 'postgres', folder: values.folder },
  async (databases, folder) => {
    const url = await databases.create('soak');
    await fillInbox(url, rate * 60 * (minutes + purgeIntervalMinutes), {
      firstDaysAgo: 1 + purgeIntervalMinutes / 1440,
      lastDaysAgo: 1 - minutes / 1440,
      chunk: rate * 10,
      key,
    });
    // Else the system writes it to the disk half a minute later, in the way of the bridge.
    execFileSync('sync');
    const market = await openSecondMarketplace({ clock: { now: () => new Date() }, linksPerInstall: projectCount });
    const tool = await openSoakTool();
    const database = openDatabase(url);
    try {
      await soak({ url, folder, market, tool, database });
    } finally {
      await database.close();
      tool.close();
      await market.stop();
    }
  },
);

interface World {
  url: string;
  folder: string;
  market: SecondMarketplace;
  tool: SoakTool;
  database: Database;
}

async function soak({ url, folder, market, tool, database }: World): Promise<void> {
  const { organizationId, token } = market.createInstall();
  const projects = await linkProjects(market, organizationId, token);
  const traffic = createSoakTraffic({
    market,
    projects,
    secret,
    rate,
    seed: Number(values.seed),
    hiresPerSecond: Number(values.hires),
    active: Number(values.active),
  });
  const delays = noteDelays(traffic, tool);
  const env = { GANGWAY_SECRET_KEY: key.toString('base64'), ...ofImage };
  const program = await openProgram(path.resolve('.'), env);
  const begunAt = new Date();
  const bridge = await program.start(['--config', writeConfig({ folder, url, tool, token, baseUrl: market.baseUrl })]);
  const probe = await openDiskProbe(folder);
  try {
    const sampler = createSampler({ bridge, database, traffic, probe, takeDelays: delays });
    const sending = traffic.run(`${bridge.receiverUrl}/webhooks/acme`, minutes * 60_000);
    const samples = await sampleUntil(sending, sampler);
    const settledMs = await settle(traffic, tool, database);
    const verdicts = [
      await judgeAcknowledged(database, traffic, begunAt),
      judgePeople(traffic, tool, settledMs),
      ...judgeSamples(samples, rate),
    ];
    const report = toReport(traffic, samples, verdicts, begunAt);
    writeFileSync(values.out, report);
    process.stdout.write(report);
    // How quick it is depends on the machine as well.
    if (verdicts.some(({ isGood, what }) => !isGood && !/^(answer|hire)/.test(what))) process.exitCode = 1;
  } finally {
    await Promise.all([bridge.stop(), probe.stop()]);
  }
}

async function linkProjects(market: SecondMarketplace, organizationId: string, token: string): Promise<Project[]> {
  const projects: Project[] = [];
  for (let number = 0; number < projectCount; number += 1) {
    const [name, jobId] = [`project-${number}`, market.createJob(organizationId)];
    const answer = await fetch(`${market.baseUrl}/project-links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jobId, externalProjectId: name }),
    });
    if (!answer.ok) throw new Error(`the marketplace answered ${answer.status}`);
    const { projectLink } = (await answer.json()) as { projectLink: { id: string } };
    projects.push({ name, jobId, linkId: projectLink.id });
  }
  return projects;
}

interface ConfigParts {
  folder: string;
  url: string;
  tool: SoakTool;
  token: string;
  baseUrl: string;
}

function writeConfig({ folder, url, tool, token, baseUrl }: ConfigParts): string {
  const config = {
    receiver: {
      host: '127.0.0.1',
      port: 0,
      drain: '0s',
      limits: { deliveriesPerMinute: 1e9, bytesPerMinute: '999TiB' },
    },
    console: { port: 0 },
    database: { url },
    marketplace: { baseUrl },
    reconcile: { schedule: '* * * * *' },
    usage: { schedule: minutes < 15 ? '* * * * *' : '*/5 * * * *' },
    // More ends in a day than any brake would let pass.
    removals: { max: 10_000_000, maxFraction: 1 },
    retention: { deliveries: '1d' },
    installs: { acme: { token, webhookSecrets: [secret], tool: 'studio' } },
    tools: { studio: { adapter: path.join(import.meta.dirname, 'soak-tool-adapter.ts'), url: tool.url } },
  };
  const file = path.join(folder, 'gangway.config.json');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** How long each waited who was let in because they were hired, since that was asked before. */
function noteDelays(traffic: SoakTraffic, tool: SoakTool): () => number[] {
  const wantedSince = new Map<string, number>();
  let delays: number[] = [];
  traffic.onWanted = (member, isWanted) => {
    if (isWanted && !tool.has(member)) wantedSince.set(member, performance.now());
    else wantedSince.delete(member);
  };
  tool.onChange = (member, isIn) => {
    const since = wantedSince.get(member);
    if (!isIn || since === undefined) return;
    delays.push(performance.now() - since);
    wantedSince.delete(member);
  };
  return () => {
    const taken = delays;
    delays = [];
    return taken;
  };
}

interface Watched {
  bridge: MeasuredProcess;
  database: Database;
  traffic: SoakTraffic;
  probe: DiskProbe;
  takeDelays: () => number[];
}

function createSampler({ bridge, database, traffic, probe, takeDelays }: Watched): () => Promise<Sample> {
  const begunAt = performance.now();
  let before = { at: begunAt, cpuMs: bridge.usage().cpuMs };
  return async () => {
    const { residentMiB, anonymousMiB, cpuMs } = bridge.usage();
    const at = performance.now();
    const processor = (cpuMs - before.cpuMs) / (at - before.at);
    before = { at, cpuMs };
    const [answers, delays] = [traffic.takeAnswerMs(), takeDelays()];
    return {
      seconds: (at - begunAt) / 1000,
      residentMiB,
      anonymousMiB,
      sizeMiB: (await readDatabaseSize(database)) / 1024 / 1024,
      processor,
      answerP50: percentile(answers, 0.5),
      answerP99: percentile(answers, 0.99),
      longestFlush: Math.max(0, ...probe.takeFlushMs()),
      inP50: percentile(delays, 0.5),
      inP99: percentile(delays, 0.99),
      ...(await countDue(database)),
      begun: traffic.begun(),
    };
  };
}

async function countDue({ kysely }: Database): Promise<Pick<Sample, 'deliveriesDue' | 'membershipsDue'>> {
  const { rows } = await sql<{ deliveries: number; memberships: number }>`select
    (select count(*) from delivery where next_attempt_at is not null) as deliveries,
    (select count(*) from membership where next_attempt_at is not null or remove_after is not null) as memberships
  `.execute(kysely);
  return { deliveriesDue: Number(rows[0]?.deliveries), membershipsDue: Number(rows[0]?.memberships) };
}

async function sampleUntil(sending: Promise<void>, sampler: () => Promise<Sample>): Promise<Sample[]> {
  const samples: Sample[] = [];
  let isOver = false;
  const over = sending.finally(() => {
    isOver = true;
  });
  for (let next = performance.now() + sampleEveryMs; ; next += sampleEveryMs) {
    await Promise.race([over, wait(Math.max(0, next - performance.now()))]);
    if (isOver) break;
    const sample = await sampler();
    if (samples.length === 0) writeFileSync(values.csv, `${Object.keys(sample).join(',')}\n`);
    samples.push(sample);
    const cells = Object.values(sample).map((value) => String(Math.round(value * 100) / 100));
    appendFileSync(values.csv, `${cells.join(',')}\n`);
  }
  await over;
  return samples;
}

/** Until everything is handled and the people in the tool are the right ones; null where that does not come about. */
async function settle(traffic: SoakTraffic, tool: SoakTool, database: Database): Promise<number | null> {
  const begunAt = performance.now();
  while (performance.now() - begunAt < patienceMs) {
    const { deliveriesDue, membershipsDue } = await countDue(database);
    const isDone = deliveriesDue === 0 && membershipsDue === 0;
    if (isDone && traffic.wanted().join() === tool.members().join()) return performance.now() - begunAt;
    await wait(500);
  }
  return null;
}

async function judgeAcknowledged({ kysely }: Database, traffic: SoakTraffic, begunAt: Date): Promise<Verdict> {
  const missing = new Set(traffic.acknowledged);
  const chunk = 10_000;
  for (let last = 0; ; ) {
    const rows = await kysely
      .selectFrom('delivery')
      .select(['id', 'deliveryId'])
      .where('id', '>', last)
      .where('receivedAt', '>=', begunAt.toISOString())
      .orderBy('id')
      .limit(chunk)
      .execute();
    for (const { deliveryId } of rows) missing.delete(deliveryId ?? '');
    last = rows.at(-1)?.id ?? last;
    if (rows.length < chunk) break;
  }
  const [first] = missing;
  const is = `${traffic.acknowledged.size} acknowledged, ${missing.size} of them not stored${first ? `, such as ${first}` : ''}`;
  return { what: 'nothing acknowledged is lost', is, isGood: missing.size === 0 && traffic.acknowledged.size > 0 };
}

function judgePeople(traffic: SoakTraffic, tool: SoakTool, settledMs: number | null): Verdict {
  const [wanted, members] = [new Set(traffic.wanted()), new Set(tool.members())];
  const missing = [...wanted].filter((one) => !members.has(one));
  const extra = [...members].filter((one) => !wanted.has(one));
  const when =
    settledMs === null ? 'never wholly settled' : `settled ${(settledMs / 1000).toFixed(0)} s after the last`;
  const is = `${wanted.size} belong in the tool, ${missing.length} are missing, ${extra.length} too many; ${when}`;
  return { what: 'people in the tool', is, isGood: settledMs !== null && missing.length + extra.length === 0 };
}

function toReport(traffic: SoakTraffic, samples: Sample[], verdicts: Verdict[], begunAt: Date): string {
  const failed = [...traffic.failed()].map(([what, count]) => `${count} × ${what}`).join(', ') || 'none';
  const median = (of: (sample: Sample) => number) =>
    percentile(samples.map(of).filter(Number.isFinite), 0.5).toFixed(1);
  const worst = (of: (sample: Sample) => number) => Math.max(...samples.map(of).filter(Number.isFinite)).toFixed(0);
  return [
    `# Soak: ${minutes} minutes, ${rate} deliveries a second, ${values.database}, seed ${values.seed}`,
    '',
    `Begun ${begunAt.toISOString()}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}.`,
    `${traffic.sent()} deliveries, ${traffic.begun()} contracts begun, not answered with 200: ${failed}.`,
    '',
    '| what | is | |',
    '|---|---|---|',
    ...verdicts.map(({ what, is, isGood }) => `| ${what} | ${is} | ${isGood ? 'good' : '**not good**'} |`),
    '',
    `Medians of samples: answer p50 ${median((one) => one.answerP50)} ms, p99 ${median((one) => one.answerP99)} ms; hire to tool p50 ${median((one) => one.inP50)} ms, p99 ${median((one) => one.inP99)} ms; ${median((one) => one.processor)} of a core.`,
    `At most: ${worst((one) => one.deliveriesDue)} deliveries and ${worst((one) => one.membershipsDue)} memberships due, ${worst((one) => one.residentMiB)} MiB resident.`,
    describeSlow(samples, slowMs),
    '',
  ].join('\n');
}
