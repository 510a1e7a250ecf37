import { Command, InvalidArgumentError } from 'commander';
import type { Database } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { exitStatusOf, type RunOutcome } from '../domain/run.ts';
import { type Counts, countNames, type Day } from '../domain/usage.ts';
import { createContractStore } from '../evidence/contract-store.ts';
import { type InstallPlan, previewReport } from '../usage/report/preview-report.ts';
import { reportNow } from '../usage/report/report-now.ts';
import type { InstallReport } from '../usage/report/report-usage.ts';
import type { ReportWanted } from '../usage/report/report-wanted.ts';
import { print } from './command-context.ts';
import { waitOption } from './duration-option.ts';
import { endWith } from './ending.ts';
import { pickInstall } from './pick-install.ts';
import { formatChange, formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { createUsageHeldCommand } from './usage-held-command.ts';
import {
  createUsageImportCommand,
  createUsageImportsCommand,
  createUsageTemplateCommand,
} from './usage-import-command.ts';
import { listReadings, type ScopeReading, toAges } from './usage-readings.ts';
import { createUsageShowCommand } from './usage-show-command.ts';
import { withWorks } from './with-works.ts';

/** `gangway usage`: the work done in the tools, and what the marketplace is told of it. */
export function createUsageCommand(terminal: Terminal): Command {
  return new Command('usage')
    .description('the work done in the tools, and what the marketplace is told of it')
    .addCommand(createReportCommand(terminal))
    .addCommand(createUsageHeldCommand(terminal))
    .addCommand(createUsageShowCommand(terminal))
    .addCommand(createUsageImportCommand(terminal))
    .addCommand(createUsageImportsCommand(terminal))
    .addCommand(createUsageTemplateCommand(terminal));
}

interface ReportOptions {
  install?: string;
  contract?: string;
  from?: Day;
  to?: Day;
  dryRun?: true;
  acceptLowered?: true;
  wait: number;
  json?: true;
}

function createReportCommand(terminal: Terminal): Command {
  return new Command('report')
    .description('read the work in the tools, and report what has changed')
    .option('--install <name>', 'only this one')
    .option('--contract <id>', 'only this one')
    .option('--from <day>', 'no day before this one: 2026-03-15', toDay)
    .option('--to <day>', 'no day after this one', toDay)
    .option('--dry-run', 'say what would be sent by what was read last, and change nothing')
    .option('--accept-lowered', 'lower what was reported, however much of it')
    .addOption(waitOption('for how long at most to read the tools'))
    .option('--json', 'print one JSON object instead of a table')
    .addHelpText(
      'after',
      `
Exit status: 0 clean or applied, 1 failed or unfinished, 2 changes pending (dry run),
3 held for somebody to look at, 64 used wrongly.`,
    )
    .action((options: ReportOptions, command: Command) =>
      withWorks(terminal, command, options.dryRun === true, async (works) => {
        const { deps } = works.usage;
        const all = [...works.installs.keys()];
        const { install, contract: contractId, from, to, acceptLowered, json } = options;
        const installs = install === undefined ? all : [pickInstall(command, works.installs, install)];
        await refuseUnknownContract(works.database, contractId, install);
        const wanted: ReportWanted = { installs, contractId, from, to, acceptsLowered: acceptLowered };
        if (options.dryRun) {
          const readings = await listReadings(deps);
          preview(terminal, json, await previewReport(deps, wanted), readings);
          return;
        }
        const patience = { waitMs: options.wait, signal: terminal.signal };
        const reported = await reportNow(deps, wanted, patience);
        report(terminal, json, reported);
      }),
    );
}

/** @throws AppError `not_found` where one is named that there is none of */
async function refuseUnknownContract(
  database: Database,
  id: string | undefined,
  install: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  const found = await createContractStore(database).find(database.kysely, id, install);
  if (found.length === 0) throw new AppError('not_found', `There is no contract ${id}`);
}

function toDay(value: string): Day {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));
  if (!isDay) throw new InvalidArgumentError('write a day: 2026-03-15');
  return value;
}

type Reported = Awaited<ReturnType<typeof reportNow>>;

function report(terminal: Terminal, json: true | undefined, { installs, unread }: Reported): void {
  print(terminal, json, { installs, unread }, () => toTable(installs));
  for (const { install, failure } of installs) {
    if (failure !== null) terminal.stderr.write(`gangway: ${install}: ${failure}\n`);
  }
  for (const { tool, scope, failure } of unread) {
    const why = failure ?? 'it took too long';
    terminal.stderr.write(`gangway: the work at ${scope} in ${tool} could not be read: ${why}\n`);
  }
  const outcomes = installs.map(({ outcome }) => outcome);
  endWith(exitStatusOf(unread.length > 0 ? [...outcomes, 'failed'] : outcomes));
}

function toTable(installs: InstallReport[]): string {
  if (installs.length === 0) return 'There are no installs.';
  const numbers = ['sent', 'lowered', 'held', 'refused', 'left'] as const;
  return formatTable(
    ['install', 'outcome', ...numbers.map((title) => ({ title, align: 'right' as const }))],
    installs.map((one) => [one.install, one.outcome, ...numbers.map((name) => one[name])]),
  );
}

function preview(terminal: Terminal, json: true | undefined, plans: InstallPlan[], readings: ScopeReading[]): void {
  const shown = plans.map((plan) => ({ ...plan, outcome: outcomeOf(plan) }));
  print(terminal, json, { installs: shown, readings }, () => [toDiff(plans), ...toAges(readings)].join('\n'));
  endWith(exitStatusOf(shown.map(({ outcome }) => outcome)));
}

function outcomeOf({ entries, heldLowered, held }: InstallPlan): RunOutcome {
  if (heldLowered.length + held.length > 0) return 'held';
  return entries.length > 0 ? 'pending' : 'clean';
}

/** What the marketplace may have, and what it would be told. */
function toDiff(plans: InstallPlan[]): string {
  const rows = plans.flatMap(({ install, entries, heldLowered, late, parked }) => [
    ...entries.map((one) => toRow(install, one, one.before, one.cause)),
    ...heldLowered.map((one) => toRow(install, one, one.before, 'held: lowers too much')),
    ...late.map((one) => toRow(install, one, null, 'too late: not sent')),
    ...parked.map((one) => toRow(install, one, null, 'refused: see "usage show"')),
  ]);
  if (rows.length === 0) return 'Nothing would be sent.';
  const counts = countNames.map((title) => ({ title, align: 'right' as const }));
  return formatTable(['install', 'contract', 'trainer', 'day', ...counts, 'because'], rows);
}

function toRow(
  install: string,
  day: { contractId: string; trainerId: string; day: Day; counts: Counts },
  before: Counts | null,
  because: string,
): string[] {
  const { contractId, trainerId, counts } = day;
  const cells = countNames.map((name) => formatChange(before?.[name] ?? null, counts[name]));
  return [install, contractId, trainerId, day.day, ...cells, because];
}
