import { statSync } from 'node:fs';
import type { Adapter, Person } from '../adapters/adapter.ts';
import { loadAdapters } from '../adapters/load-adapters.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import type { Storage } from '../context.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { listPending, refuseNewer } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { createInstallRegistry, type InstallRegistry, openSources } from '../installs/install-registry.ts';
import { createSecretBox, type SecretBox } from '../keys/secret-box.ts';
import { checkKey, findKey } from '../keys/secret-key.ts';
import { systemClock } from '../lib/clock.ts';
import { retry } from '../lib/retry.ts';
import { adviceOfTrouble } from '../lib/troubles.ts';
import { type Check, failure, ok, toCheckText, warning } from '../operations/check.ts';
import { examineMarketplace } from '../operations/check-marketplace.ts';
import { examineTools } from '../operations/check-tools.ts';
import { examineUpgrade } from '../operations/check-upgrade.ts';
import { checkConfiguration, examineStored } from '../operations/doctor.ts';
import { callTool } from '../tools/call-tool.ts';
import { createCanaries } from './canaries.ts';
import type { doctorOptions } from './commands/inputs.ts';
import type { Printed } from './define-command.ts';
import type { GivenOf } from './options.ts';
import type { RemoteSession, Session } from './session.ts';
import { loadCommandConfig } from './with-storage.ts';

type DoctorOptions = GivenOf<typeof doctorOptions>;

/** `gangway doctor`: checks everything, changes nothing, and says what to do. */
export async function runDoctor(options: DoctorOptions, session: Session): Promise<Printed> {
  return printChecks(await runChecks(options, session));
}

export async function askDoctor(
  { rehearse, upgrade }: Pick<DoctorOptions, 'rehearse' | 'upgrade'>,
  remote: RemoteSession,
): Promise<Printed> {
  if (rehearse) return remote.misuse("option '--rehearse' cannot be used with option '--remote'");
  if (upgrade) return remote.misuse("option '--upgrade' cannot be used with option '--remote'");
  return printChecks((await remote.ask<{ checks: Check[] }>('POST /doctor')).checks);
}

function printChecks(checks: readonly Check[]): Printed {
  const failed = checks.filter(({ status }) => status === 'failure').length;
  return {
    data: { checks },
    text: () => checks.map((check) => toCheckText(check)).join('\n'),
    problems: failed > 0 ? [`${failed} of ${checks.length} checks failed`] : [],
    status: failed > 0 ? 1 : 0,
  };
}

interface Subject {
  loaded: LoadedConfig;
  adapters: ReadonlyMap<string, Adapter>;
}

async function runChecks(options: DoctorOptions, session: Session): Promise<Check[]> {
  let subject: Subject;
  try {
    const loaded = loadCommandConfig(session);
    subject = { loaded, adapters: await loadAdapters(loaded.config) };
  } catch (error) {
    return [failure('configuration', error, 'Fix it, then run this again')];
  }
  if (options.upgrade)
    return [...checkConfiguration(subject.loaded.config, subject.loaded.warnings), ...(await checkUpgrade(subject))];
  const stored = await checkStorage(subject);
  try {
    return await checkAll(subject, stored, options, session.terminal.signal);
  } finally {
    await stored.database?.close();
  }
}

async function checkAll(
  subject: Subject,
  stored: Stored,
  options: DoctorOptions,
  signal: AbortSignal,
): Promise<Check[]> {
  const { adapters } = subject;
  const { config, warnings } = subject.loaded;
  const configuration = checkConfiguration(config, warnings);
  // Without the right key, further checks would be wrong.
  if (stored.isShut) return [...configuration, ...stored.checks];
  const sources = stored.sources ?? openSources(config);
  return [
    ...configuration,
    ...(await examineTools(stored.storage, { config, adapters }, signal)),
    ...(await examineMarketplace(sources, config, signal)),
    ...(options.rehearse ? [await rehearseIn(adapters, options, signal)] : []),
    ...stored.checks,
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
  const error = new AppError('not_found', `There is no tool "${tool}"; there is: ${known}`);
  return failure('rehearsal', error, 'Name one of these with --tool');
}

async function checkUpgrade({ loaded }: Subject): Promise<Check[]> {
  const { url } = loaded.config.database;
  if (missingFile(url) !== undefined) return [ok('upgrade', 'There is no database yet')];
  let database: Database | undefined;
  try {
    database = openDatabase(url);
    return await examineUpgrade(database, systemClock);
  } catch (error) {
    return [failure('database', error, reaching)];
  } finally {
    await database?.close();
  }
}

const reaching = 'Check that it runs, and that database.url leads to it';

interface Stored {
  checks: Check[];
  /** It stays open, because the API client of an install looks up the customer of its token there. */
  database?: Database | undefined;
  /** Undefined if the installs in it could not be read. */
  storage?: Storage;
  /** Whether the key does not open it. */
  isShut?: true;
  /** The API clients of all installs; undefined if they could not be read. */
  sources?: InstallRegistry['sources'];
}

/** Checks the database, and does not create, migrate or write it, as other commands do. */
async function checkStorage(subject: Subject): Promise<Stored> {
  const { config } = subject.loaded;
  const { url } = config.database;
  const missing = missingFile(url);
  if (missing !== undefined) {
    const isFirst = config.installs.size === 0;
    const says = `There is none at ${missing} yet: the first ${isFirst ? 'customer' : 'start'} makes it`;
    const action = isFirst ? adviceOfTrouble('no_customer') : 'Start once: gangway start';
    return { checks: [warning('database', says, action)] };
  }
  let database: Database | undefined;
  try {
    database = openDatabase(url);
    return { ...(await checkOpened(database, subject)), database };
  } catch (error) {
    return { checks: [failure('database', error, reaching)], database };
  }
}

function missingFile(url: string): string | undefined {
  const file = sqliteFileOf(url);
  return file !== undefined && !statSync(file, { throwIfNoEntry: false })?.size ? file : undefined;
}

async function checkOpened(database: Database, subject: Subject): Promise<Stored> {
  const pending = await inTransaction(database, (tx) => listPending(database.dialect, tx));
  if (pending.length > 0) {
    const says = `Migrations that have not run yet: ${pending.join(', ')}`;
    return { checks: [warning('database', says, 'Run them with "gangway migrate", or start')] };
  }
  await inTransaction(database, refuseNewer);
  const answers = ok('database', 'It answers, and is up to date');
  const { adapters, loaded } = subject;
  const { config } = loaded;
  const { key, box } = await examineKey(database, loaded);
  if (box === undefined) return { checks: [answers, key], isShut: true };
  const storage = { database, box };
  const registry = createInstallRegistry(storage, config);
  try {
    await registry.load();
  } catch (error) {
    // Orphans are not listed, because the members of an install that could not be loaded would be among them.
    const isTwice = toAppError(error).code === 'conflict';
    const action = isTwice ? 'Let only one of the two have each install' : restoring;
    const checks = [answers, key, failure('installs', error, action)];
    return isTwice ? { checks } : { checks, isShut: true };
  }
  const { installs, sources } = registry;
  const examined = { ...storage, config, installs, adapters, clock: systemClock };
  return { checks: [answers, key, ...(await examineStored(examined))], storage, sources };
}

const restoring = 'Restore database and key from backups that belong together';

async function examineKey(database: Database, loaded: LoadedConfig): Promise<{ key: Check; box?: SecretBox }> {
  try {
    const { url } = loaded.config.database;
    const box = createSecretBox(findKey(url, loaded.secretKey));
    await checkKey(database, box);
    return { key: ok('key', `The database opens with the key ${box.fingerprint}`), box };
  } catch (error) {
    return { key: failure('key', error, 'Do that, then run this again') };
  }
}

interface Rehearsal {
  tool: string;
  adapter: Adapter;
  group: string;
  emailDomain: string;
}

const rehearsalTimeoutMs = 60_000;

/** Adds a made-up person to a group, and removes them again. */
export async function rehearse(
  { tool, adapter, group, emailDomain }: Rehearsal,
  stopping: AbortSignal,
): Promise<Check> {
  const name = `rehearsal in ${tool}`;
  const canaries = createCanaries(emailDomain);
  try {
    const isIn = await callTool(rehearsalTimeoutMs, stopping, (signal) =>
      addAndRemove(adapter, group, canaries.person(1), signal),
    );
    return ok(
      name,
      isIn
        ? `A made-up person was in ${group}, and is out again`
        : `A made-up person would be invited to ${group}; they are in it once they accept`,
    );
  } catch (error) {
    const left = await canaries.sweep(adapter, [group]);
    const remedy = `Check what the token of tools.${tool} may do`;
    const action =
      left === 0 ? remedy : `Remove ${canaries.prefix}-1 from ${group} by hand, who may still be in. ${remedy}`;
    return failure(name, error, action);
  }
}

/** @returns whether the person was a member. A tool with one shared invitation does not list people. */
async function addAndRemove(adapter: Adapter, group: string, person: Person, signal: AbortSignal): Promise<boolean> {
  const member = await adapter.addMember(group, person, signal);
  if (member.isUnlisted === true) return false;
  await expectFound(adapter, group, person, { isFound: true, signal });
  await adapter.removeMember(group, member, signal);
  await expectFound(adapter, group, person, { isFound: false, signal });
  return true;
}

/** A tool may need a moment to show a change. */
async function expectFound(
  adapter: Adapter,
  group: string,
  person: Person,
  { isFound, signal }: { isFound: boolean; signal: AbortSignal },
): Promise<void> {
  const look = async () => {
    const found = await adapter.findMember(group, person, signal);
    if ((found !== null) === isFound) return;
    const what = isFound ? 'was not in after being added' : 'is still in after the removal';
    throw new AppError('unavailable', `The made-up person ${what}`);
  };
  await retry(look, { attempts: 3, firstWaitMs: 100, maxWaitMs: 500, signal });
}
