import { statSync } from 'node:fs';
import { Command } from 'commander';
import type { Adapter } from '../adapters/adapter.ts';
import { loadAdapters } from '../adapters/load-adapters.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { openRegistry } from '../create-works.ts';
import { type Database, inTransaction, openDatabase } from '../db/database.ts';
import { listPending, refuseNewer } from '../db/migrate.ts';
import { checkKeyRing, findKeyRing } from '../db/secret-key.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { AppError } from '../domain/errors.ts';
import type { Install } from '../installs/install.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import { openPlatformApis } from '../installs/platform-apis.ts';
import { systemClock } from '../lib/clock.ts';
import { createSecretBox, type SecretBox } from '../lib/secret-box.ts';
import { type Check, checkTool, failure, ok, warning } from '../operator/doctor-checks.ts';
import { examine } from '../operator/examine.ts';
import { examineMarketplace } from '../operator/examine-marketplace.ts';
import { checkChannels } from '../operator/notification-checks.ts';
import { toCheckText } from './check-text.ts';
import { loadCommandConfig, print, secretKeyOf } from './command-context.ts';
import { toDomain } from './domain-option.ts';
import { rehearse } from './rehearse.ts';
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
    .description(
      'look at configuration, tools, marketplace, database and clocks, and say what to do',
    )
    .option('--rehearse', 'add a made-up person to a group of a tool, and remove them again')
    .option('--tool <name>', 'the tool to rehearse with')
    .option('--group <id>', 'the group to rehearse in')
    .option('--email-domain <domain>', 'where the made-up address is', toDomain, 'example.com')
    .option('--json', 'print one JSON object instead of text')
    .action(async (options: DoctorOptions, command: Command) => {
      refuseMisuse(options, command);
      const checks = await runChecks(terminal, options, command);
      print(terminal, options.json, { checks }, () => checks.map(toCheckText).join('\n'));
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
  const { installs, marketplace, receiver, reconcile } = subject.loaded.config;
  const tools = [...adapters].map(([tool, adapter]) => checkTool(tool, adapter, signal));
  const stored = await checkStorage(subject);
  const platformApis = stored.platformApis ?? openPlatformApis(installs, marketplace.baseUrl);
  const asked = { platformApis, publicUrl: receiver.publicUrl, schedule: reconcile.schedule };
  return [
    ...checkConfiguration(subject.loaded),
    ...checkChannels(subject.loaded.config.notifications),
    ...(await Promise.all(tools)).flat(),
    ...(await examineMarketplace(asked, signal)),
    ...(options.rehearse ? [await rehearseIn(adapters, options, signal)] : []),
    ...stored.checks,
  ];
}

function checkConfiguration({ config, warnings }: LoadedConfig): Check[] {
  const size = `installs in it: ${config.installs.size}, tools: ${config.tools.size}`;
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

interface Stored {
  checks: Check[];
  /** Of all installs, also those that were connected; undefined where that could not be read. */
  platformApis?: InstallRegistry['platformApis'];
}

/** As it is: nothing is made, migrated or written down, as every other command would. */
async function checkStorage(subject: Subject): Promise<Stored> {
  const { url } = subject.loaded.config.database;
  if (isMissing(url)) {
    const says = 'there is none yet: the first start makes it';
    return { checks: [warning('database', says, 'start once: gangway start')] };
  }
  let database: Database | undefined;
  try {
    database = openDatabase(url);
    return await checkOpened(database, subject);
  } catch (error) {
    const action = 'see that it runs, and that database.url leads to it';
    return { checks: [failure('database', error, action)] };
  } finally {
    await database?.close();
  }
}

function isMissing(url: string): boolean {
  const file = sqliteFileOf(url);
  return file !== undefined && !statSync(file, { throwIfNoEntry: false })?.size;
}

async function checkOpened(database: Database, subject: Subject): Promise<Stored> {
  const pending = await inTransaction(database, listPending);
  if (pending.length > 0) {
    const says = `migrations that are not run yet: ${pending.join(', ')}`;
    return { checks: [warning('database', says, 'run them with "gangway migrate", or start')] };
  }
  await inTransaction(database, refuseNewer);
  const answers = ok('database', 'answers, and is up to date');
  const { adapters, loaded } = subject;
  const { config } = loaded;
  const { key, box } = await checkKey(database, loaded);
  const found = await findInstalls(database, box, loaded);
  const { installs, platformApis, checks } = found;
  const examined = { config, installs, database, adapters, clock: systemClock };
  // Without the right key nothing more can be said that is worth acting on.
  const work = box === undefined ? [] : await examine({ ...examined, box });
  return {
    checks: [answers, key, ...checks, ...work],
    ...(platformApis && { platformApis }),
  };
}

async function checkKey(
  database: Database,
  loaded: LoadedConfig,
): Promise<{ key: Check; box?: SecretBox }> {
  try {
    const { url } = loaded.config.database;
    const ring = findKeyRing(url, secretKeyOf(loaded), loaded.previousSecretKeys);
    const fingerprint = await checkKeyRing(database, ring);
    const box = createSecretBox(ring.key, ring.previous);
    return { key: ok('key', `the database opens with the key ${fingerprint}`), box };
  } catch (error) {
    return { key: failure('key', error, 'set the key that the database was made with') };
  }
}

interface Found extends Stored {
  installs: ReadonlyMap<string, Install>;
}

/** Those of the configuration alone, where those that were connected cannot be read. */
async function findInstalls(
  database: Database,
  box: SecretBox | undefined,
  { config }: LoadedConfig,
): Promise<Found> {
  const livesIn = 'configuration' as const;
  const configured = new Map(
    [...config.installs].map(([name, install]) => [name, { ...install, livesIn }]),
  );
  if (box === undefined) return { installs: configured, checks: [] };
  const registry = openRegistry({ config, storage: { database, box } });
  try {
    await registry.load();
    const { installs, platformApis } = registry;
    return { installs, platformApis, checks: [] };
  } catch (error) {
    const check = failure('installs', error, 'let each install live in one place');
    return { installs: configured, checks: [check] };
  }
}
