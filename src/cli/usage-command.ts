import { exitStatusOf, type RunOutcome } from '../domain/run.ts';
import { type Counts, countNames, type Day } from '../domain/usage.ts';
import type { Columns } from '../operations/show.ts';
import { formatChange, formatList, formatTable } from '../operations/text-table.ts';
import { type ReportedWork, refuseUnknownContract, reportWork } from '../operator/report-work.ts';
import type { ReportWanted } from '../usage/report/plan-install.ts';
import { type InstallPlan, previewReport } from '../usage/report/preview-report.ts';
import type { InstallReport } from '../usage/report/report-usage.ts';
import { listReadings, type ScopeReading } from '../usage/show/list-readings.ts';
import type { Printed } from './define-command.ts';
import { pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

export interface ReportOptions {
  install: string | undefined;
  contract: string | undefined;
  from: Day | undefined;
  to: Day | undefined;
  dryRun: boolean;
  acceptLowered: boolean;
  wait: number;
}

/** `gangway usage report`: reads the work in the tools, and reports what has changed. */
export async function runUsageReport(options: ReportOptions, session: ServicesSession): Promise<Printed> {
  const { services, terminal } = session;
  const { install, contract: contractId, from, to, acceptLowered: acceptsLowered } = options;
  const installs = pickInstalls(session, services.installs, install);
  await refuseUnknownContract(services, contractId, install);
  const wanted: ReportWanted = { installs, contractId, from, to, acceptsLowered };
  if (options.dryRun) return printPlanned(await previewReport(services, wanted), await listReadings(services));
  const patience = { waitMs: options.wait, signal: terminal.signal };
  const by = acceptsLowered ? decidedBy() : null;
  return printReported(await reportWork(services, by, wanted, patience));
}

export function printReported({ installs, unread }: ReportedWork): Printed {
  const outcomes = installs.map(({ outcome }) => outcome);
  return {
    data: { installs, unread },
    text: () => formatList(installs, columns, 'There are no installs.'),
    problems: [
      ...installs.flatMap(({ install, failure }) => (failure === null ? [] : [`${install}: ${failure}`])),
      ...unread.map(
        ({ tool, scope, failure }) =>
          `the work at ${scope} in ${tool} could not be read: ${failure ?? 'it took too long'}`,
      ),
    ],
    status: exitStatusOf(unread.length > 0 ? [...outcomes, 'failed'] : outcomes),
  };
}

const columns: Columns<InstallReport> = [
  ['install', ({ install }) => install],
  ['outcome', ({ outcome }) => outcome],
  ['sent', ({ sent }) => sent, { align: 'right' }],
  ['lowered', ({ lowered }) => lowered, { align: 'right' }],
  ['held', ({ held }) => held, { align: 'right' }],
  ['refused', ({ refused }) => refused, { align: 'right' }],
  ['left', ({ left }) => left, { align: 'right' }],
];

export function printPlanned(plans: readonly InstallPlan[], readings: readonly ScopeReading[]): Printed {
  const installs = plans.map((plan) => ({ ...plan, outcome: outcomeOf(plan) }));
  const changes = plans.flatMap(toChanges);
  return {
    data: { installs, readings },
    text: () => [formatList(changes, changeColumns, 'Nothing would be sent.'), ...toAges(readings)].join('\n'),
    status: exitStatusOf(installs.map(({ outcome }) => outcome)),
  };
}

function outcomeOf({ entries, heldLowered, held }: InstallPlan): RunOutcome {
  if (heldLowered.length + held.length > 0) return 'held';
  return entries.length > 0 ? 'pending' : 'clean';
}

/** One day: the counts reported before, and the counts that would be reported. */
interface Change {
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  before: Counts | null;
  counts: Counts;
  because: string;
}

function toChanges({ install, entries, heldLowered, late, parked }: InstallPlan): Change[] {
  return [
    ...entries.map((one) => ({ ...one, install, because: one.cause })),
    ...heldLowered.map((one) => ({ ...one, install, because: 'held: lowers too much' })),
    ...late.map((one) => ({ ...one, install, because: 'too late: see "usage held"' })),
    ...parked.map((one) => ({ ...one, install, before: null, because: 'refused: see "usage show"' })),
  ];
}

const changeColumns: Columns<Change> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['trainer', ({ trainerId }) => trainerId],
  ['day', ({ day }) => day],
  ...countNames.map(
    (name) =>
      [
        name,
        ({ before, counts }: Change) => formatChange(before?.[name] ?? null, counts[name]),
        { align: 'right' },
      ] as const,
  ),
  ['because', ({ because }) => because],
];

function toAges(readings: readonly ScopeReading[]): string[] {
  if (readings.length === 0) return ['', 'No work was ever read in a tool.'];
  const rows = readings.map(({ tool, scope, readBeganAt, ageSeconds, failure }) => [
    tool,
    scope,
    readBeganAt ?? 'never',
    toAge(ageSeconds),
    failure ?? '',
  ]);
  return ['', 'By these readings:', formatTable(['tool', 'scope', 'read at', 'ago', ''], rows)];
}

function toAge(seconds: number | null): string {
  if (seconds === null) return '';
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
