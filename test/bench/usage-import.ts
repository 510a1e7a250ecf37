import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { runCli } from '../../src/cli/cli.ts';
import { inTransaction, type Transaction } from '../../src/db/database.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { emptyContract, emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { mergeEvidence } from '../../src/evidence/evidence-store.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';

/**
 * `npm run bench:usage-import`: how long `gangway usage import` takes for a million lines, and how
 * much memory its process takes at most; ends with 1 where that is over the bound.
 *
 * The lines are of 2,500 people, a third of them by work address, on as many days as it takes. The
 * file is imported twice, so that the second replaces all of the first, and what is due of its work is
 * worked out each time. Meanwhile another process writes to the same database every few milliseconds, as
 * a receiver would, and how long it has to wait is printed. `--shuffled` for lines in no order,
 * `--postgres` for PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '1000000' },
    shuffled: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    folder: { type: 'string', default: '.' },
    /** In the process that imports: the configuration. */
    import: { type: 'string' },
  },
});
const lines = Number(values.lines);
const people = 2500;
const mostMiB = 200;
const dayMs = 86_400_000;

if (values.import === undefined) await withBenchDatabases(values, main);
else await importHere(values.import);

async function main(databases: BenchDatabase, folder: string): Promise<void> {
  const url = await databases.create('usage_import');
  const key = randomBytes(32);
  const storage = await openStorage(url, key);
  await hirePeople(storage);
  await writeFile(path.join(folder, 'work.csv'));
  const configFile = writeConfig(folder, url);
  say(`${lines} lines of ${people} people${values.shuffled ? ', shuffled' : ''}`);
  say('             wall s   peak MiB   another writer waits: median ms   p99   most');
  for (const round of ['first', 'replacing']) {
    const { peakMiB, cells } = await measure(storage, configFile, key);
    say(`${round.padEnd(11)} ${cells.join(' ')}`);
    if (peakMiB > mostMiB) {
      say(`more than ${mostMiB} MiB`);
      process.exitCode = 1;
    }
  }
  await storage.database.close();
}

async function measure(storage: OpenStorage, configFile: string, key: Buffer) {
  const begunAt = performance.now();
  const child = fork(import.meta.filename, ['--import', configFile], {
    env: { ...process.env, GANGWAY_SECRET_KEY: key.toString('base64') },
  });
  const stopping = new AbortController();
  const waiting = writeBeside(storage, stopping.signal);
  const ended = once(child, 'exit');
  const [peakMiB] = (await Promise.race([once(child, 'message'), ended])) as [number];
  const [status] = await ended;
  if (status !== 0) throw new Error(`the import ended with ${status}`);
  const wallMs = performance.now() - begunAt;
  stopping.abort();
  const waits = (await waiting).sort((one, other) => one - other);
  const at = (share: number) => (waits[Math.floor((waits.length - 1) * share)] ?? 0).toFixed(1);
  const cells = [
    (wallMs / 1000).toFixed(1).padStart(7),
    peakMiB.toFixed(0).padStart(10),
    at(0.5).padStart(33),
    at(0.99).padStart(5),
    at(1).padStart(6),
  ];
  return { peakMiB, cells };
}

/** @returns how long each of many small transactions took, in milliseconds */
async function writeBeside({ database }: OpenStorage, signal: AbortSignal): Promise<number[]> {
  const took: number[] = [];
  while (!signal.aborted) {
    const begunAt = performance.now();
    const write = (tx: Transaction) => writeSetting(tx, 'last_write_check', String(took.length));
    await inTransaction(database, write, { patienceMs: 60_000 });
    took.push(performance.now() - begunAt);
    await wait(5);
  }
  return took;
}

/** In a process of its own, so that nothing else is in its memory. */
async function importHere(configFile: string): Promise<void> {
  const { stdin, stderr } = process;
  const terminal = {
    stdin,
    stdout: createWriteStream('/dev/null'),
    stderr,
    signal: neverAborted(),
  };
  const file = path.join(path.dirname(configFile), 'work.csv');
  process.exitCode = await runCli(['usage', 'import', file, '--yes', '--config', configFile], terminal);
  process.send?.(process.resourceUsage().maxRSS / 1024);
  process.disconnect();
}

function neverAborted(): AbortSignal {
  return AbortSignal.any([]);
}

function writeConfig(folder: string, url: string): string {
  const configFile = path.join(folder, 'gangway.config.json');
  const config = {
    database: { url },
    installs: { acme: { token: 'none', webhookSecrets: ['whsec_bench'], tool: 'list' } },
    tools: { list: { adapter: 'roster', path: './roster.json' } },
  };
  writeFileSync(configFile, JSON.stringify(config));
  return configFile;
}

async function hirePeople({ database, box }: OpenStorage): Promise<void> {
  const storage = { database, box };
  const seenAt = new Date().toISOString();
  const link = { ...emptyLink('acme', 'cml1'), externalProjectId: 'signs', firstSeenAt: seenAt, seenAt };
  await inTransaction(database, (tx) => mergeEvidence(storage, tx, { ...emptyEvidence(), links: [link] }));
  for (let begin = 0; begin < people; begin += 100) {
    const added = emptyEvidence();
    for (let index = begin; index < begin + 100; index += 1) {
      const [contractId, trainerId] = [`ctr${index}`, `usr${index}`];
      added.contracts.push(emptyContract('acme', contractId));
      added.pairs.push({ install: 'acme', contractId, linkId: 'cml1', namedAt: seenAt, omissions: null });
      added.participations.push({ install: 'acme', contractId, trainerId, seenAt, absences: null });
      added.people.push({
        install: 'acme',
        trainerId,
        displayName: null,
        displayNameVersion: null,
        workEmail: `${trainerId}@opentrain.work`,
        workEmailVersion: '0:1',
        addressMissing: null,
        addressMissingVersion: null,
      });
    }
    await inTransaction(database, (tx) => mergeEvidence(storage, tx, added));
  }
}

/** A prime that no number of lines is a multiple of: every line comes once, far from its neighbour. */
const stride = 7_368_787;

async function writeFile(file: string): Promise<void> {
  const stream = createWriteStream(file);
  stream.write('workDate,contractId,workEmail,totalSeconds,tasksCompleted,labelsCompleted\n');
  const today = Date.now();
  for (let line = 0; line < lines; line += 1) {
    const index = values.shuffled ? (line * stride) % lines : line;
    const person = index % people;
    const day = new Date(today - Math.floor(index / people) * dayMs).toISOString().slice(0, 10);
    const address = person % 3 === 0 ? `usr${person}@opentrain.work` : '';
    const text = `${day},ctr${person},${address},${index % 80_000},${index % 500},${index % 900}\n`;
    if (!stream.write(text)) await once(stream, 'drain');
  }
  stream.end();
  await finished(stream);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
