import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { takeFreePort } from '../src/cli/try-command.ts';
import { platformEventTypes } from '../src/domain/event.ts';
import { createSandbox } from '../src/sandbox/sandbox.ts';
import { format, printTable } from './support/print-table.ts';
import { listRoster } from './support/roster.ts';
import { workAdapter } from './support/usage-workspace.ts';

/**
 * `npm run walk`: prints how many functions of `src` each way through Gangway runs, and in how many files. `--top` adds
 * the functions by folder.
 *
 * - The program runs from its sources in a process of its own, with the precise coverage of V8.
 * - Named functions that ran at least once are counted, and their files. Functions without a name, bodies of modules,
 *   other threads, migrations and `src/sandbox` are not counted. (`try --exit` ran 1,454 functions in 372 files before
 *   the code was made smaller, migrations and sandbox included: about 1,215 in 304 without them.)
 * - The second pair of columns leaves out the start of the bridge. A command is counted as a whole.
 */
const { values } = parseArgs({ options: { top: { type: 'boolean', default: false } } });
/** By then every loop of a bridge has rested once. */
const settleMs = 7000;
const sources = `${pathToFileURL(path.resolve('src')).href}/`;
/** On this signal the program writes what ran so far, and counts anew. */
const splitter = "import { takeCoverage } from 'node:v8'; process.on('SIGUSR2', () => takeCoverage());";

const sandbox = createSandbox();
const { baseUrl } = await sandbox.start();
const walks = new Map([
  ['try --exit', (folder: string) => untilEnd(launch(folder, 'try --exit', true))],
  ['delivery → membership', walkDelivery],
  ['schedule → removal', walkSchedule],
  ['work → report', walkReport],
  ['plans approve', walkApproval],
]);
const ways = new Map<string, Functions[]>();
for (const [way, walk] of walks) {
  const folder = mkdtempSync(path.join(tmpdir(), 'gangway-walk-'));
  await walk(folder);
  ways.set(way, readExecutedFunctions(path.join(folder, 'coverage')));
  rmSync(folder, { recursive: true });
}
await sandbox.stop();
const sizeOf = (functions: Functions) => [functions.size, new Set([...functions].map((one) => one.split(':')[0])).size];
const rows = [...ways].map(([way, parts]) => [way, ...parts.flatMap(sizeOf).map(format)]);
printTable([['', 'functions', 'files', 'after start', 'files'], ...rows]);
if (values.top) printFolders();

async function walkDelivery(folder: string): Promise<void> {
  const jobId = await openCustomer(folder, await takeFreePort());
  await whileRunning(folder, () => sandbox.hire({ jobId }), 1);
}

async function walkSchedule(folder: string): Promise<void> {
  const jobId = await openCustomer(folder, 0, { reconcile: { schedule: '* * * * * *' } });
  const { contractId } = sandbox.hire({ jobId });
  await untilEnd(launch(folder, 'reconcile'));
  await whileRunning(folder, () => sandbox.endContract(contractId), 0);
}

async function walkReport(folder: string): Promise<void> {
  const jobId = await openCustomer(folder, 0, { tools: { studio: { adapter: './studio.mjs' } } });
  const [trainer] = sandbox.hire({ jobId }).trainers;
  const day = new Date().toISOString().slice(0, 10);
  const work = { memberId: trainer?.opentrainUserId, of: 'day', day, seconds: 600, tasks: 2, labels: 9 };
  writeFileSync(path.join(folder, 'work.json'), JSON.stringify([work]));
  writeFileSync(path.join(folder, 'studio.mjs'), workAdapter);
  await untilEnd(launch(folder, 'reconcile'));
  await untilEnd(launch(folder, 'usage report', true));
}

async function walkApproval(folder: string): Promise<void> {
  const jobId = await openCustomer(folder);
  const contracts = [1, 2, 3].map(() => sandbox.hire({ jobId }).contractId);
  await untilEnd(launch(folder, 'reconcile'));
  for (const contractId of contracts) sandbox.endContract(contractId);
  // Ends with status 3: the brake holds the removal of everybody.
  await untilEnd(launch(folder, 'reconcile'));
  await untilEnd(launch(folder, 'plans approve 1', true));
}

/** A customer with a linked job, and the configuration for them. */
async function openCustomer(folder: string, port = 0, changes: object = {}): Promise<string> {
  const { installId, token } = sandbox.createInstall({ piiConsent: true });
  const { id: jobId } = sandbox.createJob({ installId });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const post = async (to: string, body: object) =>
    (await fetch(`${baseUrl}${to}`, { method: 'POST', headers, body: JSON.stringify(body) })).json() as Promise<{
      secret?: string;
    }>;
  await post('/project-links', { externalProjectId: 'street-signs', jobId });
  const endpoint = { url: `http://127.0.0.1:${port}/webhooks/acme`, eventTypes: platformEventTypes };
  const webhookSecrets = port > 0 ? [(await post('/webhook-endpoints', endpoint)).secret] : [];
  const config = {
    receiver: { host: '127.0.0.1', port, drain: '0s' },
    console: { port: 0 },
    database: { url: 'sqlite:./gangway.db' },
    marketplace: { baseUrl },
    reconcile: { schedule: '@yearly' },
    log: { level: 'error' },
    installs: { acme: { token, webhookSecrets, tool: 'studio' } },
    tools: { studio: { adapter: 'roster', path: './roster.json' } },
    ...changes,
  };
  writeFileSync(path.join(folder, 'gangway.config.json'), JSON.stringify(config));
  return jobId;
}

/** Measures a bridge from its start until this has happened, and so many are in the roster. */
async function whileRunning(folder: string, happen: () => unknown, members: number): Promise<void> {
  const child = launch(folder, 'start --json', true);
  const ended = untilEnd(child);
  await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), ended]);
  await wait(settleMs);
  child.kill('SIGUSR2');
  happen();
  while (child.exitCode === null && listRoster(path.join(folder, 'roster.json')).length !== members) await wait(25);
  child.kill('SIGTERM');
  await ended;
}

function launch(folder: string, command: string, isMeasured = false): ChildProcess {
  const program = ['--import', `data:text/javascript,${encodeURIComponent(splitter)}`, path.resolve('src/main.ts')];
  const env = isMeasured ? { NODE_V8_COVERAGE: path.join(folder, 'coverage') } : {};
  const argv = [...program, ...command.split(' ')];
  return spawn(process.execPath, argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
}

async function untilEnd(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  const [status] = await once(child, 'close');
  if (status !== 0 && status !== 3) throw new Error(`${child.spawnargs.slice(4).join(' ')} ended with ${status}`);
}

/** The folder with the most of them first. */
function printFolders(): void {
  const folderOf = (name: string) => name.split(/[/:]/)[0] ?? '';
  const all = [...ways.values()].map(([whole = new Set<string>()]) => [...whole].map(folderOf));
  const byFolder = Object.entries(Object.groupBy(all.flat(), (folder) => folder));
  const folders = byFolder.sort(([, a = []], [, b = []]) => b.length - a.length).map(([folder]) => folder);
  const rows = folders.map((folder) => [folder, ...all.map((one) => format(one.filter((it) => it === folder).length))]);
  printTable([['', ...ways.keys()], ...rows]);
}

/** Each as its file under `src` and where it begins there: `domain/brake.ts:1204`. */
type Functions = ReadonlySet<string>;

/**
 * Reads the coverage of a process that ran with `NODE_V8_COVERAGE`: the named functions that its main thread ran at least
 * once.
 *
 * @returns those of the whole process; and, where it wrote its coverage several times, those of each later part
 */
function readExecutedFunctions(folder: string): Functions[] {
  // `coverage-<process>-<time>-<thread>.json`
  const files = readdirSync(folder).filter((name) => name.endsWith('-0.json'));
  const parts = files.sort().map((file) => readPart(path.join(folder, file)));
  return [new Set(parts.flatMap((part) => [...part])), ...parts.slice(1)];
}

function readPart(file: string): Functions {
  const { result } = JSON.parse(readFileSync(file, 'utf8')) as { result: Profiler.ScriptCoverage[] };
  const functions = new Set<string>();
  for (const script of result) {
    if (!script.url.startsWith(sources) || script.url.startsWith(`${sources}sandbox/`)) continue;
    for (const { functionName, ranges } of script.functions) {
      const [whole] = ranges;
      // The body of a module has no name either.
      if (functionName === '' || whole === undefined || whole.count === 0) continue;
      functions.add(`${script.url.slice(sources.length)}:${whole.startOffset}`);
    }
  }
  return functions;
}
