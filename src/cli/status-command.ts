import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { findConfiguration } from '../config/find-configuration.ts';
import { instantIn, systemClock, toInstant } from '../lib/clock.ts';
import { formatTable } from '../operations/text-table.ts';
import { aboutChangedFile, loadRunning, type Running, type ShownInstance } from '../operator/about-instances.ts';
import type { Attention } from '../operator/attention.ts';
import { loadStatus, type Status, toMailed } from '../operator/load-status.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';
import { toAttentionText } from './texts.ts';
import { loadRegistry, toQuery } from './with-storage.ts';

/** `gangway status`: how Gangway is doing, and what needs an operator. */
export async function runStatus({ since }: { since: number }, session: StorageSession): Promise<Printed> {
  const { config, storage } = session;
  const { installs } = await loadRegistry(session);
  const from = instantIn(systemClock, -since);
  const mailed = toMailed(config, toInstant(systemClock.now()));
  const status = await loadStatus(storage, from, installs, mailed);
  const running = await loadRunning(storage, systemClock);
  const attention = [...running.attention, ...aboutFile(session, running), ...status.attention];
  const all = { ...status, ...running, attention };
  return printStatus(all);
}

/** Only of the instances on this machine, because others have a file of their own. */
function aboutFile(session: StorageSession, { instances }: Running): Attention[] {
  const source = findConfiguration(toQuery(session));
  if (source.kind !== 'file') return [];
  const own = instances.filter(({ name }) => name.startsWith(`${hostname()}/`));
  // Unlike the time of its content, which a copy may keep, this one cannot be set.
  return aboutChangedFile(own, source.path, statSync(source.path).ctime);
}

export function printStatus(all: Status & Running): Printed {
  return { data: all, text: () => toText(all) };
}

function toText(status: Status & Running): string {
  const { attention, installs } = status;
  const todo = attention.map(toAttentionText).join('\n');
  return [
    attention.length === 0 ? 'Nothing needs you.' : `Needs you:\n${todo}`,
    ...nowText(status),
    ...sinceText(status),
    ...section(
      'Read from the marketplace',
      ['install', 'last read', 'trouble'],
      installs.map(({ install, readBeganAt, failure }) => [install, readBeganAt ?? 'never', failure ?? '']),
    ),
  ].join('\n\n');
}

function section(title: string, columns: string[], rows: (string | number)[][]): string[] {
  return rows.length === 0 ? [] : [`${title}\n${formatTable(columns, rows)}`];
}

function nowText({ instances, memberships, budgets }: Status & Running): string[] {
  return [
    ...section(
      'Instances',
      ['name', 'version', 'state', 'started', 'heard of last'],
      toShown(instances).map((one) => [one.name, one.version, one.state, one.startedAt, one.beatAt]),
    ),
    ...section(
      'Memberships now',
      ['tool', 'state', 'count'],
      memberships.map(({ tool, state, count }) => [tool, state, count]),
    ),
    ...section(
      'Budgets of contracts under way',
      ['install', 'state', 'count'],
      budgets.map(({ install, state, count }) => [install, state, count]),
    ),
  ];
}

function sinceText({ since, deliveries, receipts, removals, lowered }: Status): string[] {
  return [
    ...section(
      `Deliveries since ${since}`,
      ['install', 'state', 'count'],
      deliveries.map(({ install, state, count }) => [install, state, count]),
    ),
    ...section(
      `Done in the tools since ${since}`,
      ['tool', 'outcome', 'count'],
      receipts.map(({ tool, outcome, count }) => [tool, outcome, count]),
    ),
    ...section(
      `Removals let pass since ${since}`,
      ['install', 'reason', 'count'],
      removals.map(({ install, clearance, count }) => [install, clearance, count]),
    ),
    ...section(
      `Usage reported lower than before since ${since} (gangway usage held)`,
      ['install', 'days'],
      lowered.map(({ install, days }) => [install, days]),
    ),
  ];
}

/** The instances that run; if none runs, the one that stopped last. */
function toShown(instances: ShownInstance[]): ShownInstance[] {
  const unstopped = instances.filter(({ state }) => state !== 'stopped');
  return unstopped.length > 0 ? unstopped : instances.slice(0, 1);
}
