import { Command } from 'commander';
import { instantIn, systemClock, toInstant } from '../lib/clock.ts';
import { stripControl } from '../lib/strip-control.ts';
import { type Attention, loadStatus, type Status, toMailed } from '../operator/load-status.ts';
import { loadRegistry, print, withStorage } from './command-context.ts';
import { durationOption } from './duration-option.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** `gangway status`: how it is doing, and what needs somebody. */
export function createStatusCommand(terminal: Terminal): Command {
  return new Command('status')
    .description('how it is doing, what happened lately, and what needs somebody')
    .addOption(durationOption('--since <duration>', 'how far back to count', '24h'))
    .option('--json', 'print one JSON object instead of text')
    .action(({ since, json }: { since: number; json?: true }, command: Command) =>
      withStorage(command, async (storage, config) => {
        const { installs } = await loadRegistry({ config }, storage);
        const from = instantIn(systemClock, -since);
        const mailed = toMailed(config, toInstant(systemClock.now()));
        const status = await loadStatus(storage.database, from, installs, mailed);
        print(terminal, json, status, () => toText(status));
      }),
    );
}

function toText(status: Status): string {
  const { since, memberships, budgets, deliveries, receipts, removals, installs, attention } =
    status;
  const { lowered } = status;
  const section = (title: string, columns: string[], rows: (string | number)[][]) =>
    rows.length === 0 ? [] : [`${title}\n${formatTable(columns, rows)}`];
  const todo = attention.map(toLines).join('\n');
  return [
    attention.length === 0 ? 'Nothing needs you.' : `Needs you:\n${todo}`,
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
      ['install', 'grounds', 'count'],
      removals.map(({ install, clearance, count }) => [install, clearance, count]),
    ),
    ...section(
      `Usage reported lower than before since ${since} (gangway usage held)`,
      ['install', 'days'],
      lowered.map(({ install, days }) => [install, days]),
    ),
    ...section(
      'Read from the marketplace',
      ['install', 'last read', 'trouble'],
      installs.map(({ install, readBeganAt, failure }) => [
        install,
        readBeganAt ?? 'never',
        failure ?? '',
      ]),
    ),
  ].join('\n\n');
}

function toLines({ says, action }: Attention): string {
  return `  ! ${stripControl(says)}\n      → ${stripControl(action)}`;
}
