import { statSync } from 'node:fs';
import { Command } from 'commander';
import type { Adapter } from '../adapters/adapter.ts';
import { loadAdapters } from '../adapters/load-adapters.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { type Database, inTransaction, openDatabase } from '../db/database.ts';
import { listPending, refuseNewer } from '../db/migrate.ts';
import { checkKeyRing, findKeyRing } from '../db/secret-key.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { AppError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { type Check, checkTool, failure, ok, warning } from '../operator/doctor-checks.ts';
import { examine } from '../operator/examine.ts';
import { loadCommandConfig, print, secretKeyOf } from './command-context.ts';
import { toDomain } from './domain-option.ts';
import { rehearse } from './rehearse.ts';
import { stripControl } from './table.ts';
import type { Terminal } from './terminal.ts';

interface DoctorOptions {
  rehearse?: true;
  tool?: string;
  group?: string;
  emailDomain: string;
  json?: true;
}

/** `gangway doctor`: looks at everything, changes nothing, and says what to do. */
export function createDoctorCommand(terminal: Terminal): Command {
  return new Command('doctor')
    .description('look at configuration, tools, database, key and clock, and say what to do')
    .option('--rehearse', 'add a made-up person to a group of a tool, and remove them again')
    .option('--tool <name>', 'the tool to rehearse with')
    .option('--group <id>', 'the group to rehearse in')
    .option('--email-domain <domain>', 'where the made-up address is', toDomain, 'example.com')
    .option('--json', 'print one JSON object instead of text')
    .action(async (options: DoctorOptions, command: Command) => {
      refuseMisuse(options, command);
      const checks = await runChecks(terminal, options, command);
      print(terminal, options.json, { checks }, () => checks.map(toText).join('\n'));
      const failed = checks.filter(({ status }) => status === 'failure').length;
      if (failed > 0) throw new AppError('invalid', `${failed} of ${checks.length} checks failed`);
    });
}

function refuseMisuse({ rehearse: isAsked, tool, group }: DoctorOptions, command: Command): void {
  if (isAsked && (tool === undefined || group === undefined)) {
    command.error('error: --rehearse needs --tool <name> and --group <id>');
  }
  if (!isAsked && (tool !== undefined || group !== undefined)) {
    command.error('error: --tool and --group are for --rehearse');
  }
}

interface Subject {
  loaded: LoadedConfig;
  adapters: ReadonlyMap<string, Adapter>;
}

async function runChecks(
  { signal }: Terminal,
  options: DoctorOptions,
  command: Command,
): Promise<Check[]> {
  let subject: Subject;
  try {
    const loaded = loadCommandConfig(command);
    subject = { loaded, adapters: await loadAdapters(loaded.config) };
  } catch (error) {
    return [failure('configuration', error, 'mend it, then run this again')];
  }
  const { adapters } = subject;
  const tools = [...adapters].map(([tool, adapter]) => checkTool(tool, adapter, signal));
  return [
    ...checkConfiguration(subject.loaded),
    ...(await Promise.all(tools)).flat(),
    ...(options.rehearse ? [await rehearseIn(adapters, options, signal)] : []),
    ...(await checkStorage(subject)),
  ];
}

function checkConfiguration({ config, warnings }: LoadedConfig): Check[] {
  const size = `installs: ${config.installs.size}, tools: ${config.tools.size}`;
  return [
    ok('configuration', size),
    ...warnings.map((line) => warning('configuration', line, 'mend it if it is not meant')),
  ];
}

async function rehearseIn(
  adapters: ReadonlyMap<string, Adapter>,
  { tool = '', group = '', emailDomain }: DoctorOptions,
  signal: AbortSignal,
): Promise<Check> {
  const adapter = adapters.get(tool);
  if (adapter !== undefined) return await rehearse({ tool, adapter, group, emailDomain }, signal);
  const known = [...adapters.keys()].join(', ');
  const error = new AppError('not_found', `there is no tool "${tool}"; there is: ${known}`);
  return failure('rehearsal', error, 'name one of these with --tool');
}

/** As it is: nothing is made, migrated or written down, as every other command would. */
async function checkStorage(subject: Subject): Promise<Check[]> {
  const { url } = subject.loaded.config.database;
  if (isMissing(url)) {
    const says = 'there is none yet: the first start makes it';
    return [warning('database', says, 'start once: gangway start')];
  }
  let database: Database | undefined;
  try {
    database = openDatabase(url);
    return await checkOpened(database, subject);
  } catch (error) {
    return [failure('database', error, 'see that it runs, and that database.url leads to it')];
  } finally {
    await database?.close();
  }
}

function isMissing(url: string): boolean {
  const file = sqliteFileOf(url);
  return file !== undefined && !statSync(file, { throwIfNoEntry: false })?.size;
}

async function checkOpened(database: Database, { loaded, adapters }: Subject): Promise<Check[]> {
  const { config } = loaded;
  const pending = await inTransaction(database, listPending);
  if (pending.length > 0) {
    const says = `migrations that are not run yet: ${pending.join(', ')}`;
    return [warning('database', says, 'run them with "gangway migrate", or start')];
  }
  await inTransaction(database, refuseNewer);
  return [
    ok('database', 'answers, and is up to date'),
    await checkKey(database, loaded),
    ...(await examine({ config, database, adapters, clock: systemClock })),
  ];
}

async function checkKey(database: Database, loaded: LoadedConfig): Promise<Check> {
  try {
    const { url } = loaded.config.database;
    const ring = findKeyRing(url, secretKeyOf(loaded), loaded.previousSecretKeys);
    const fingerprint = await checkKeyRing(database, ring);
    return ok('key', `the database opens with the key ${fingerprint}`);
  } catch (error) {
    return failure('key', error, 'set the key that the database was made with');
  }
}

const marks = { ok: ' ok ', warning: 'warn', failure: 'FAIL' };

function toText({ name, status, says, action }: Check): string {
  const line = `${marks[status]}  ${stripControl(`${name}: ${says}`)}`;
  return action === null ? line : `${line}\n      → ${stripControl(action)}`;
}
