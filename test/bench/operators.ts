import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { openStorage } from '../../src/app/storage.ts';
import type { Database } from '../../src/db/database.ts';
import { workEmailContext } from '../../src/db/seal-contexts.ts';
import type { SecretBox } from '../../src/keys/secret-box.ts';
import { withBenchDatabases } from './bench-database.ts';
import { fillInbox } from './fill-inbox.ts';
import { fillContracts, fillMemberships } from './fill-memberships.ts';
import { type MeasuredProgram, openProgram } from './measured-program.ts';
import { percentile } from './percentile.ts';

/**
 * `npm run bench:operators`: how long an operator waits for `status`, `members`, `explain` and `deliveries list`, at the
 * command line (a process for each, of which Node's start is a part) and by the API of a running bridge. A million
 * deliveries of 20 days up to now and 100,000 memberships by default, on SQLite and on PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    memberships: { type: 'string', default: '100000' },
    deliveries: { type: 'string', default: '1000000' },
    receipts: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '15' },
    only: { type: 'string' },
    folder: { type: 'string', default: '.' },
  },
});
const rounds = Number(values.rounds);
/** What none may take longer than, in half of all cases. */
const mostMs = 300;
const key = Buffer.alloc(32, 7);
const token = 'token-of-the-benchmark';
const address = 'trainer@opentrain.work';
const middle = Math.floor(Number(values.memberships) / 2) + 1;

const asked: readonly [command: string[], address: string][] = [
  [['status'], '/status'],
  [['members'], '/memberships?limit=500'],
  [['members', '--state', 'failed'], '/memberships?limit=500&state=failed'],
  [['members', '--waiting'], '/waiting?limit=500'],
  [['explain', `usr${middle}`], `/explain?subject=usr${middle}`],
  [['explain', `ctr${middle}`], `/explain?subject=ctr${middle}`],
  [['explain', address], `/explain?subject=${encodeURIComponent(address)}`],
  [['deliveries', 'list'], '/deliveries?limit=50'],
  [['deliveries', 'list', '--state', 'failed'], '/deliveries?limit=50&state=failed'],
  [['deliveries', 'list', '--state', 'pending'], '/deliveries?limit=50&state=pending'],
  [['deliveries', 'list', '--install', 'beta'], '/deliveries?limit=50&install=beta'],
];

let isSlow = false;
for (const dialect of ['sqlite', 'postgres']) {
  if (values.only !== undefined && values.only !== dialect) continue;
  const where = { postgres: dialect === 'postgres', folder: values.folder };
  await withBenchDatabases(where, async ({ create }, folder) => await measure(dialect, await create('many'), folder));
}
say(isSlow ? `Not all are under ${mostMs} ms.` : `All are under ${mostMs} ms.`);

async function measure(dialect: string, url: string, folder: string): Promise<void> {
  await fill(url);
  const program = await openProgram(path.resolve('.'), {
    GANGWAY_SECRET_KEY: key.toString('base64'),
    NODE_COMPILE_CACHE: path.join(folder, 'cache'),
  });
  const config = ['--config', writeConfig(folder, url)];
  const nodeMs = await repeat(() => program.waitForNode());
  say(`${dialect}: Node alone ${format(nodeMs)}`);
  say(`${''.padEnd(40)}  command: p50, p95            API: p50, p95`);
  const commands = await measureCommands(program, config);
  const answers = await measureApi(program, config);
  for (const [index, [command]] of asked.entries()) {
    const [byCommand = [], byApi = []] = [commands[index], answers[index]];
    isSlow ||= percentile(byCommand, 0.5) >= mostMs || percentile(byApi, 0.5) >= mostMs;
    say(`${command.join(' ').padEnd(40)}  ${format(byCommand)}   ${format(byApi)}`);
  }
}

/** While no bridge runs, whose own work would be measured as well. */
async function measureCommands(program: MeasuredProgram, config: string[]): Promise<number[][]> {
  const all: number[][] = [];
  for (const [command] of asked) all.push(await repeat(() => program.waitFor([...command, ...config])));
  return all;
}

async function measureApi(program: MeasuredProgram, config: string[]): Promise<number[][]> {
  const bridge = await program.start(config);
  const headers = { authorization: `Bearer ${token}` };
  async function timeOf(address: string): Promise<number> {
    const begunAt = performance.now();
    const answer = await fetch(`${bridge.consoleUrl}/api/v1${address}`, { headers, redirect: 'error' });
    await answer.arrayBuffer();
    if (!answer.ok && answer.status !== 404) throw new Error(`${address} answered ${answer.status}`);
    return performance.now() - begunAt;
  }
  try {
    const all: number[][] = [];
    for (const [, address] of asked) all.push(await repeat(() => timeOf(address)));
    return all;
  } finally {
    await bridge.stop();
  }
}

/** The first time warms up what is compiled and read. */
async function repeat(time: () => Promise<number>): Promise<number[]> {
  await time();
  const all: number[] = [];
  for (let round = 0; round < rounds; round += 1) all.push(await time());
  return all;
}

async function fill(url: string): Promise<void> {
  const begunAt = performance.now();
  await fillInbox(url, Number(values.deliveries), { firstDaysAgo: 20, lastDaysAgo: 0, key });
  const { database, box } = await openStorage(url, key);
  await fillMemberships(database, Number(values.memberships), Number(values.receipts));
  await fillContracts(database, Number(values.memberships));
  await vary(database);
  await nameOne(database, box);
  // As a server in use has done by itself; the one of the tests does not.
  if (database.dialect === 'postgres') await sql`vacuum analyze`.execute(database.kysely);
  await database.close();
  say(`filled in ${((performance.now() - begunAt) / 1000).toFixed(0)} s`);
}

/** A small customer beside the other, and deliveries that were given up. */
async function vary(database: Database): Promise<void> {
  const db = database.kysely;
  await sql`update delivery set install = 'beta' where id % 4000 = 7`.execute(db);
  await sql`update delivery set state = 'failed', failure = 'It failed' where id % 2000 = 9`.execute(db);
  await sql`update membership set state = 'waiting_email' where id % 500 = 9`.execute(db);
}

/** So that they are found by their address, which is sealed. */
async function nameOne({ kysely }: Database, box: SecretBox): Promise<void> {
  const person = { install: 'acme', trainerId: `usr${middle}` };
  await kysely
    .updateTable('person')
    .set({ workEmail: box.seal(Buffer.from(address), workEmailContext(person)), workEmailDigest: box.digest(address) })
    .where('install', '=', person.install)
    .where('trainerId', '=', person.trainerId)
    .execute();
}

/** Nothing answers at the marketplace, so nothing is read that would change what was filled in. */
function writeConfig(folder: string, url: string): string {
  const install = { token: 'ot_ptk_acme', webhookSecrets: ['whsec_bench'], tool: 'studio' };
  const config = {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0, tokens: { bench: { token, role: 'viewer' } } },
    database: { url },
    marketplace: { baseUrl: 'http://127.0.0.1:9/api/partner/v1' },
    reconcile: { schedule: '0 0 29 2 *' },
    usage: { schedule: '0 0 29 2 *' },
    installs: { acme: { ...install, projects: ['project-*'] }, beta: { ...install, projects: ['beta-*'] } },
    tools: { studio: { adapter: 'roster', path: path.join(folder, 'roster.json') } },
  };
  const file = path.join(folder, 'gangway.config.json');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

function format(all: readonly number[]): string {
  return [0.5, 0.95].map((share) => `${percentile(all, share).toFixed(0).padStart(6)} ms`).join(' ');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
