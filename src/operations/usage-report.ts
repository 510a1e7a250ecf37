import { z } from 'zod';
import { keepAnswer } from '../budget/keep-budget.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { exitStatusOf } from '../domain/run.ts';
import { findContracts } from '../evidence/contract-store.ts';
import { toDurationMs } from '../lib/units.ts';
import { nameEach } from '../memberships/membership-list-store.ts';
import { listScopes } from '../usage/read/scope-store.ts';
import { type InstallPlan, previewReport } from '../usage/report/plan-install.ts';
import { reportNow } from '../usage/report/report-worker.ts';
import { act, type OperationContext, read } from './operation.ts';
import { pickInstalls, sayFailures } from './pick-installs.ts';
import { type Columns, fieldColumns, numberColumns, table } from './show.ts';
import { formatList } from './text-table.ts';
import { Counts, changeColumns, HeldWork, ofScope, type WantedDays, wantedDays } from './usage-values.ts';
import { count, day, flag, maybeInstant, maybeText, named, outcome, waiting } from './values.ts';

/** Reports of work to the marketplace. */

const DueDay = named('DueDay', { contractId: z.string(), trainerId: z.string(), day, counts: Counts });

const PlannedDay = DueDay.extend({
  cause: z.string(),
  before: Counts.describe('What the marketplace has.'),
}).meta({ id: 'PlannedDay' });

const Plan = named('ReportPlan', {
  install: z.string(),
  outcome,
  entries: z.array(PlannedDay).describe('What would be sent.'),
  heldLowered: z.array(PlannedDay).describe('What would be held, because it lowers too much.'),
  late: z
    .array(DueDay.extend({ before: Counts }).meta({ id: 'LateDueDay' }))
    .describe('Days that changed after their last report. An operator decides about them.'),
  parked: z.array(DueDay).describe('Refused before, and not changed since.'),
  held: z.array(HeldWork),
});

const Reading = z.object({ ...ofScope, readBeganAt: maybeInstant, failure: maybeText });

const readingColumns: Columns<z.output<typeof Reading>> = [
  ...fieldColumns('tool', 'scope'),
  ['age', ({ readBeganAt }) => readBeganAt ?? 'never', { as: 'age' }],
  ['problem', ({ failure }) => failure],
];

/** The counts of a day that were reported, and that would be. */
interface Change extends z.output<typeof DueDay> {
  install: string;
  before: Counts | null;
  reason: string;
}

const plannedColumns: Columns<Change> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['trainer', ({ trainerId }) => trainerId],
  ['day', ({ day: of }) => of],
  ...changeColumns<Change>(
    ({ before }) => before,
    ({ counts }) => counts,
  ),
  ['reason', ({ reason }) => reason],
];

function toChanges({ install, entries, heldLowered, late, parked }: z.output<typeof Plan>): Change[] {
  return [
    ...entries.map((one) => ({ ...one, install, reason: one.cause })),
    ...heldLowered.map((one) => ({ ...one, install, reason: 'held: lowers too much' })),
    ...late.map((one) => ({ ...one, install, reason: 'too late: see "usage held"' })),
    ...parked.map((one) => ({ ...one, install, before: null, reason: 'refused: see "usage show"' })),
  ];
}

function outcomeOf({ entries, heldLowered, held }: InstallPlan): z.output<typeof outcome> {
  if (heldLowered.length + held.length > 0) return 'held';
  return entries.length > 0 ? 'pending' : 'clean';
}

export const preview = read('GET /usage/report', 'Show what a report would send by the latest readings', {
  asks: 'services',
  in: z.strictObject(wantedDays),
  out: z.object({
    installs: z.array(Plan),
    readings: z.array(Reading).describe('How old the readings are that this follows from.'),
  }),
  async run(days, ctx) {
    const plans = await previewReport(ctx, await toWanted(ctx, days));
    const installs = await Promise.all(
      plans.map(async (plan) => ({ ...plan, held: await nameEach(ctx, plan.held), outcome: outcomeOf(plan) })),
    );
    return { installs, readings: await listScopes(ctx) };
  },
  show: ({ installs, readings }) =>
    [
      formatList(installs.flatMap(toChanges), plannedColumns, 'Nothing would be sent.'),
      '',
      ...(readings.length === 0 ? [] : ['By these readings:']),
      formatList(readings, readingColumns, 'No work was ever read in a tool.'),
    ].join('\n'),
  status: ({ installs }) => exitStatusOf(installs.map((one) => one.outcome)),
});

const Reported = named('UsageReport', {
  install: z.string(),
  outcome,
  sent: count,
  lowered: count,
  held: count,
  refused: count,
  left: count,
  requests: count,
  failure: maybeText,
});

const columns: Columns<z.output<typeof Reported>> = [
  ...fieldColumns('install', 'outcome'),
  ...numberColumns('sent', 'lowered', 'held', 'refused', 'left'),
];

export const report = act('POST /usage/report', 'Read the work in the tools, and report what has changed', {
  asks: 'tools',
  in: z.strictObject({
    ...wantedDays,
    acceptLowered: flag('Lower reported work, however many days that concerns.'),
    wait: waiting,
  }),
  out: z.object({
    installs: z.array(Reported),
    unread: z.array(z.object({ ...ofScope, failure: maybeText })).describe('Work that could not be read.'),
  }),
  async run({ acceptLowered: acceptsLowered, wait, ...days }, ctx, { by, signal }) {
    const wanted = { ...(await toWanted(ctx, days)), acceptsLowered };
    const reported = await reportNow(ctx, keepAnswer, wanted, { waitMs: toDurationMs(wait) ?? 0, signal });
    // Cron reports too. Only lowering is a decision.
    if (acceptsLowered) {
      const subject = days.contract ?? wanted.installs.join(', ');
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'usage report --accept-lowered', subject));
    }
    return reported;
  },
  show: table(columns, 'There are no installs.', 'installs'),
  problems({ installs, unread }) {
    const unreadWork = unread.map(({ tool, scope, failure }) => {
      return `the work at ${scope} in ${tool} could not be read: ${failure ?? 'it took too long'}`;
    });
    return [...sayFailures(installs), ...unreadWork];
  },
  status({ installs, unread }) {
    const outcomes = installs.map((one) => one.outcome);
    return exitStatusOf(unread.length > 0 ? [...outcomes, 'failed'] : outcomes);
  },
});

/** @throws AppError `not_found` for an install or a contract that does not exist */
export async function toWanted(ctx: OperationContext, { install, contract: contractId, from, to }: WantedDays) {
  const installs = pickInstalls(ctx, install);
  if (contractId !== undefined && (await findContracts(ctx.database.kysely, contractId, install)).length === 0) {
    throw new AppError('not_found', `There is no contract ${contractId}`);
  }
  return { installs, contractId, from, to };
}
