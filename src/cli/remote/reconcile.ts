import { setTimeout as wait } from 'node:timers/promises';
import type { RunOutcome } from '../../domain/run.ts';
import type { Established } from '../../operator/connect/connect-install.ts';
import type { Check } from '../../operator/doctor-checks.ts';
import type { Previewed } from '../../operator/preview-all.ts';
import type { Reconciled } from '../../operator/reconcile-now.ts';
import type { ListedRun } from '../../reconcile/runs/run-store.ts';
import type { Plan } from '../../removals/plan-store.ts';
import { askSecret } from '../ask.ts';
import { type ConnectOptions, printConnected, readToken, toAccount, toTokenName } from '../connect-command.ts';
import type { Printed } from '../define-command.ts';
import { printPreviewed, printReconciled, type ReconcileOptions } from '../reconcile-command.ts';
import type { RemoteSession } from '../session.ts';
import { createProgress } from '../terminal.ts';
import { toCheckText } from '../texts.ts';

/** Readings that a running instance makes when it is asked to. */

interface Wanted {
  installs: string[];
  wantedAt: string;
}

export async function askReconcile(
  { install, dryRun, wait: waitMs }: ReconcileOptions,
  remote: RemoteSession,
): Promise<Printed> {
  const body = { install };
  if (dryRun) {
    const { installs } = await remote.ask<{ installs: Previewed[] }>('POST /installs/preview', { body });
    return printPreviewed(installs);
  }
  return printReconciled(await follow(remote, await remote.ask<Wanted>('POST /installs/read', { body }), waitMs));
}

/** A token that is not given here is the one that the instance has. */
export async function askConnect(options: ConnectOptions, remote: RemoteSession): Promise<Printed> {
  const { install, tokenFile, tool, projects, yes: relink, move, acceptOrphans, acceptOtherCustomer } = options;
  const { terminal } = remote;
  const { source, jobs } = toAccount(options);
  const token = readToken(tokenFile, remote.line.envFile) ?? (await askToken(remote, toTokenName(source, install)));
  const body = { source, jobs, token, tool, projects, relink, move, acceptOrphans, acceptOtherCustomer };
  const { checks, wantedAt, ...established } = await remote.ask<ConnectedNow>('POST /installs/{install}/connect', {
    params: { install },
    body,
  });
  for (const check of checks) terminal.stderr.write(`${toCheckText(check)}\n`);
  const [reconciled] = await follow(remote, { installs: [install], wantedAt }, options.wait);
  return printConnected({ ...(reconciled ?? toNothing(install)), ...established });
}

interface ConnectedNow extends Established {
  checks: Check[];
  wantedAt: string;
}

/** Undefined if stdin is no terminal, or nothing is typed. */
async function askToken({ terminal }: RemoteSession, name: string): Promise<string | undefined> {
  if (terminal.stdin.isTTY !== true) return undefined;
  const typed = await askSecret(terminal, `${name} (nothing keeps the one it has): `);
  return typed === '' ? undefined : typed;
}

const lookEveryMs = 500;

/** Waits until what follows from a reading is done in the tools, or the time is over. */
async function follow(remote: RemoteSession, { installs, wantedAt }: Wanted, waitMs: number): Promise<Reconciled[]> {
  const { signal } = remote.terminal;
  const onProgress = createProgress(remote.terminal);
  const until = performance.now() + waitMs;
  for (;;) {
    const found = await findRuns(remote, installs, wantedAt);
    const ended = installs.filter((install) => found.get(install)?.endedAt);
    if (ended.length === installs.length || signal.aborted || performance.now() >= until) {
      return await Promise.all(installs.map((install) => toReconciled(remote, install, found.get(install))));
    }
    onProgress(`${ended.length} of ${installs.length} installs are read, and their tools in line`);
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The first run of each install that began since then. */
async function findRuns(
  remote: RemoteSession,
  installs: readonly string[],
  wantedAt: string,
): Promise<Map<string, ListedRun>> {
  const [only] = installs.length === 1 ? installs : [];
  const runs = await remote.list<ListedRun>('GET /runs', { install: only }, mostRunsOfAnInstall * installs.length);
  return new Map(runs.filter(({ beganAt }) => beganAt >= wantedAt).map((run) => [run.install, run]));
}

/** So many begin at most between two looks. */
const mostRunsOfAnInstall = 10;

async function toReconciled(remote: RemoteSession, install: string, run: ListedRun | undefined): Promise<Reconciled> {
  if (run === undefined) return toNothing(install);
  const { added, removed, held, failed, failure, endedAt } = run;
  const [open] = held === 0 ? [] : await remote.list<Plan>('GET /plans', { install, state: 'open' }, 1);
  const outcome: RunOutcome = endedAt === null ? 'failed' : (run.outcome ?? 'failed');
  const numbers = { install, added, removed, held, failed, plan: open?.id ?? null, outcome };
  return { ...numbers, failure: failure ?? (endedAt === null ? 'Not done in time: it goes on' : null) };
}

function toNothing(install: string): Reconciled {
  const failure = 'Not read in time: it is read as soon as possible';
  return { install, plan: null, added: 0, removed: 0, held: 0, failed: 0, outcome: 'failed', failure };
}
