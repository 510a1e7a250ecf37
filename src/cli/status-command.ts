import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { findConfiguration } from '../config/find-configuration.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { instantIn, systemClock } from '../lib/clock.ts';
import { formatTable } from '../operations/text-table.ts';
import type { ConfigFile, ShownInstance } from '../operator/load-running.ts';
import { loadStatus, type Status } from '../operator/load-status.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';
import { toTroubleText } from './texts.ts';
import { loadRegistry, toQuery } from './with-storage.ts';

export interface StatusOptions {
  since: number;
  exitCode: boolean;
}

/** `gangway status`: how Gangway is doing, and what needs an operator. */
export async function runStatus({ since, exitCode }: StatusOptions, session: StorageSession): Promise<Printed> {
  const { config, storage } = session;
  const { installs } = await loadRegistry(session);
  const clock = createDatabaseClock(storage.database, systemClock);
  await clock.correct();
  const ctx = { ...storage, config, installs, clock };
  return printStatus(await loadStatus(ctx, instantIn(clock, -since), fileOf(session)), exitCode);
}

/** Only instances on this machine read this file: others have one of their own. */
function fileOf(session: StorageSession): ConfigFile | undefined {
  const source = findConfiguration(toQuery(session));
  if (source.kind !== 'file') return undefined;
  // Unlike the time of its content, which a copy may keep, this one cannot be set.
  const changedAt = statSync(source.path).ctime;
  return { path: source.path, changedAt, isOf: ({ name }) => name.startsWith(`${hostname()}/`) };
}

const exitStatus = { down: 1, held: 2, waiting: 2, notice: 0 } as const;

/** @param isChecked whether the exit status says what there is */
export function printStatus(status: Status, isChecked: boolean): Printed {
  const worst = status.troubles[0]?.severity ?? 'notice';
  return { data: status, text: () => toText(status), ...(isChecked && { status: exitStatus[worst] }) };
}

function toText(status: Status): string {
  return [
    ...troublesText(status),
    ...nowText(status),
    ...sinceText(status),
    ...section(
      'Read from the marketplace',
      ['install', 'last read', 'trouble'],
      status.installs.map(({ install, readBeganAt, failure }) => [install, readBeganAt ?? 'never', failure ?? '']),
    ),
  ].join('\n\n');
}

function troublesText({ troubles }: Status): string[] {
  const [notices, needs] = [true, false].map((isNotice) =>
    troubles.filter(({ severity }) => (severity === 'notice') === isNotice).map(toTroubleText),
  ) as [string[], string[]];
  return [
    needs.length === 0 ? 'Nothing needs you.' : `Needs you:\n${needs.join('\n')}`,
    ...(notices.length === 0 ? [] : [`Worth knowing:\n${notices.join('\n')}`]),
  ];
}

function section(title: string, columns: string[], rows: (string | number)[][]): string[] {
  return rows.length === 0 ? [] : [`${title}\n${formatTable(columns, rows)}`];
}

function nowText({ instances, memberships, budgets }: Status): string[] {
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
