import { type EnvironmentLine, readEnvironment, readVariable } from '../config/environment.ts';
import { readSmallFile } from '../config/read-file.ts';
import { AppError } from '../domain/errors.ts';
import type { SourceKind } from '../domain/install.ts';
import { exitStatusOf } from '../domain/run.ts';
import { listClaims } from '../hires/hire-store.ts';
import { findConnectedInstall } from '../installs/install-store.ts';
import { stripControl } from '../lib/text.ts';
import { type Check, toCheckText } from '../operations/check.ts';
import {
  type Connection,
  type Established,
  establishInstall,
  settleConnection,
  toToken,
  toWantedJobs,
} from '../operations/connect.ts';
import { type Reconciled, reconcileNow } from '../operations/reconcile-now.ts';
import { awaitClaim, endClaim, registerAccount } from '../operations/register.ts';
import { formatTable } from '../operations/text-table.ts';
import { askSecret, askYesNo } from './ask.ts';
import type { connectArguments, connectOptions } from './commands/inputs.ts';
import type { Printed } from './define-command.ts';
import type { GivenOf } from './options.ts';
import { type RemoteSession, type ServicesSession, type Terminal, withProgress } from './session.ts';
import { decidedBy } from './with-storage.ts';

type ConnectOptions = GivenOf<typeof connectArguments & typeof connectOptions>;

interface Connected extends Reconciled, Established {}

/** `gangway connect`: from the token of a customer, or of an employer's own account, to people in the tool. */
export async function runConnect(options: ConnectOptions, session: ServicesSession): Promise<Printed> {
  if (options.register) return printConnected(await register(options, session));
  const wish = await toWish(options, session);
  return printConnected(await connectAs(wish, options, session));
}

/** From no account to a claimed one. Each step is stored, so an interrupted run is gone on with. */
async function register(options: ConnectOptions, session: ServicesSession): Promise<Connected> {
  const { install } = options;
  const { terminal, services } = session;
  const { destination } = settleConnection(services, { ...options, source: 'employer', jobs: [], hasToken: true });
  const accepts = { acceptsOrphans: options.acceptOrphans, acceptsOtherCustomer: options.acceptOtherCustomer };
  const wish = { install, source: 'employer', jobs: [], destination, ...accepts } as const;
  const isClaimed = (await listClaims(services)).every((claim) => claim.install !== install);
  if (services.installs.has(install) && isClaimed) throw new AppError('conflict', `${install} is connected already`);
  for (let hasExpired = false; ; hasExpired = true) {
    const claim = await registerAccount(services, install, hasExpired, terminal.signal);
    const before = { ...wish, token: claim.accessToken, isUnclaimed: true };
    // An account that nobody has claimed in time is gone, so another takes its place.
    await establish({ ...before, acceptsOtherCustomer: claim.isAnew || wish.acceptsOtherCustomer }, options, session);
    const onLink = (url: string, code: string | null, until: string | null) => {
      const more = `${code === null ? '' : ` Its code is ${code}.`}${until === null ? '' : ` It expires at ${until}.`}`;
      terminal.stderr.write(`${stripControl(`A person must claim the account: ${url}.${more}`)}\n`);
    };
    const token = await awaitClaim(services, install, claim, onLink, terminal.signal);
    if (token !== null) {
      const connected = await connectAs({ ...wish, token }, options, session);
      await endClaim(services, install, claim, terminal.signal);
      return connected;
    }
    terminal.stderr.write('The claim has expired. Another account is registered\n');
  }
}

/** The same with `--remote`. By default, the instance uses the token that it has. */
export async function askConnect(options: ConnectOptions, remote: RemoteSession): Promise<Printed> {
  const { install, tokenFile, tool, projects, yes: relink, move, acceptOrphans, acceptOtherCustomer } = options;
  if (options.register) remote.misuse('--register does not take --remote: it waits for a person here');
  const { terminal } = remote;
  const { source, jobs } = toAccount(options);
  const token = readToken(tokenFile, remote.line) ?? (await askToken(terminal, toTokenName(source, install)));
  const wait = `${Math.min(Math.ceil(options.wait / 1000), mostWaitSeconds)}s`;
  const body = { source, jobs, token, tool, projects, relink, move, acceptOrphans, acceptOtherCustomer, wait };
  const { checks, ...connected } = await remote.ask<Connected & { checks: Check[] }>(
    'POST /installs/{install}/connect',
    { params: { install }, body },
  );
  for (const check of checks) terminal.stderr.write(`${toCheckText(check, terminal.stderr)}\n`);
  return printConnected(connected);
}

/** The longest that the API waits. */
const mostWaitSeconds = 100;

/** @returns undefined if stdin is no terminal, or if nothing is typed */
async function askToken(terminal: Terminal, name: string, hasOne = true): Promise<string | undefined> {
  if (terminal.stdin.isTTY !== true) return undefined;
  const typed = await askSecret(terminal, `${name}${hasOne ? ' (nothing keeps the one it has)' : ''}: `);
  return typed === '' ? undefined : typed;
}

function printConnected(connected: Connected): Printed {
  const { install, failure, ...data } = connected;
  return {
    data: { install, ...data },
    text: () => toText(connected),
    problems: failure === null ? [] : [`${install}: ${failure}`],
    status: exitStatusOf([connected.outcome]),
  };
}

async function toWish(options: ConnectOptions, session: ServicesSession): Promise<Connection> {
  const { install, tokenFile, tool, projects } = options;
  const { terminal, services } = session;
  const accepts = { acceptsOrphans: options.acceptOrphans, acceptsOtherCustomer: options.acceptOtherCustomer };
  const { source: wantedSource, jobs } = toAccount(options);
  const wanted = { install, source: wantedSource, jobs, hasToken: tokenFile !== undefined, tool, projects };
  const { source, destination, configured } = settleConnection(services, wanted);
  const wish = { install, source, jobs, destination, ...accepts };
  if (configured !== undefined) return { ...wish, token: configured };
  const stored = await findConnectedInstall(services, install);
  const handed = readToken(tokenFile, session.line);
  return { ...wish, token: handed ?? (await findToken(terminal, wish, stored?.token)) };
}

/** The kind of account and its jobs, from the command line. */
function toAccount({ employer, job }: Pick<ConnectOptions, 'employer' | 'job'>) {
  const source: SourceKind | undefined = employer ? 'employer' : undefined;
  return { source, jobs: toWantedJobs(job) };
}

/** The name of the token in a question. */
function toTokenName(source: SourceKind | undefined, install: string): string {
  const kind = { platform: 'Platform token', employer: 'Personal token' };
  return `${source === undefined ? 'Token' : kind[source]} of ${install}`;
}

/** From the file, else from the variable or its `_FILE`. */
function readToken(file: string | undefined, line: EnvironmentLine): string | undefined {
  const cwd = process.cwd();
  const text =
    file === undefined ? readVariable('GANGWAY_CONNECT_TOKEN', readEnvironment(line), cwd) : readSmallFile(file, cwd);
  return text === undefined ? undefined : toToken(text);
}

async function findToken(
  terminal: Terminal,
  { install, source }: Pick<Connection, 'install' | 'source'>,
  stored: string | undefined,
): Promise<string> {
  const typed = await askToken(terminal, toTokenName(source, install), stored !== undefined);
  if (typed !== undefined) return toToken(typed);
  if (stored !== undefined) return stored;
  throw new AppError(
    'invalid',
    `There is no token for ${install}: give it with --token-file, or in GANGWAY_CONNECT_TOKEN`,
  );
}

function establish(
  wish: Connection,
  { yes, move }: ConnectOptions,
  { terminal, services, registry }: ServicesSession,
): Promise<Established> {
  const connector = {
    registry,
    by: decidedBy(),
    mayMove: move,
    confirm: async (question: string) => yes || (await askYesNo(terminal, question)),
    onStep: (check: Check) => void terminal.stderr.write(`${toCheckText(check, terminal.stderr)}\n`),
  };
  return establishInstall(services, connector, wish, terminal.signal);
}

/** Reconciles it here, because no instance may be running. */
async function connectAs(wish: Connection, options: ConnectOptions, session: ServicesSession): Promise<Connected> {
  const { terminal, services } = session;
  const established = await establish(wish, options, session);
  const { install, acceptsOrphans } = wish;
  const [reconciled] = await withProgress(terminal, (onProgress) => {
    const patience = { loops: services.loops, waitMs: options.wait, signal: terminal.signal, onProgress };
    return reconcileNow(services, [install], patience, acceptsOrphans);
  });
  if (reconciled === undefined) throw new AppError('internal', 'Nothing was reconciled');
  return { ...reconciled, ...established };
}

function toText(connected: Connected): string {
  const { install, links, relinked, missing, plan } = connected;
  const { added, removed, held, failed } = connected;
  return [
    `${install} is connected: ${added} added, ${removed} removed, ${held} held, ${failed} failed.`,
    ...(relinked.length > 0 ? [`Linked again: ${relinked.join(', ')}.`] : []),
    ...(missing.length > 0
      ? [
          'Linked before, and not now:',
          formatTable(
            ['project', 'because'],
            missing.map(({ project, why }) => [project, why]),
          ),
        ]
      : []),
    ...(links === 0 ? ['No project is linked yet: gangway links add <project> --job <id>'] : []),
    ...(plan === null ? [] : [`Removals are held: gangway plans show ${plan}`]),
    'Keep it running with: gangway start',
  ].join('\n');
}
