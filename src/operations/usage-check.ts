import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { compareTexts, sayCount } from '../lib/text.ts';
import { nameEach } from '../memberships/membership-list-store.ts';
import { checkUsage, sumChecked } from '../usage/due/check-usage.ts';
import { describeDifference, describeHeld } from '../usage/due/explain-day.ts';
import { recountDue } from '../usage/due/refresh-due.ts';
import { listUsageTroubles } from '../usage/due/unpaid-store.ts';
import { trainerColumns } from './access.ts';
import { toHours } from './find-troubles.ts';
import { act, type OperationContext, read } from './operation.ts';
import { type Columns, fieldColumns, numberColumns } from './show.ts';
import { formatList } from './text-table.ts';
import { toWanted } from './usage-report.ts';
import { Counts, heldReason, trainerDay, type WantedDays, wantedDays, whyDifferent } from './usage-values.ts';
import { count, day, flag, named } from './values.ts';

/** The work that the sources have, that is due, and that the marketplace answered. */

const checkedCounts = {
  seen: Counts.describe('What the tools and imports have.'),
  due: Counts.describe('Without what is held or discarded.'),
  answered: Counts.describe('What the marketplace answered.'),
};

const Sum = named('CheckSum', {
  install: z.string().describe('Empty for held work that may be of no known contract.'),
  days: count.describe('Days of trainers on contracts.'),
  differing: count.describe('Days with something unpaid, or paid without a source.'),
  ...checkedCounts,
  held: Counts,
  usd: z.number().describe('What is not paid, for contracts with a known rate; negative if overpaid.'),
});

const Day = named('CheckedDay', {
  ...trainerDay,
  contractId: z.string().describe('Empty if the work may be of several, or of none.'),
  id: z.string().describe('Of held work, or of the day.'),
  ...checkedCounts,
  difference: Counts,
  usd: z.number().nullable(),
  why: whyDifferent.nullable(),
  reason: heldReason.nullable().describe('Why work is held.'),
});

type Day = z.output<typeof Day>;
export type CheckSum = z.output<typeof Sum>;
export type CheckedDay = Day;

const CheckedWork = z.object({
  sums: z.array(Sum),
  days: z.array(Day).describe('The latest first.'),
  left: count.describe('Days beyond those listed.'),
  older: day.nullable().describe('The oldest day before these that needs an operator.'),
});

export type CheckedWork = z.output<typeof CheckedWork>;

export const dayColumns: Columns<Day> = [
  ...fieldColumns('day', 'install'),
  ['contract', ({ contractId }) => contractId],
  ...trainerColumns,
  ...(['seconds', 'tasks', 'labels'] as const).flatMap((name) => [
    [`${name} seen`, ({ seen }: Day) => seen[name], { align: 'right' }] as const,
    ['due', ({ due }: Day) => due[name], { align: 'right' }] as const,
    ['answered', ({ answered }: Day) => answered[name], { align: 'right' }] as const,
  ]),
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
  ['reason', sayDifference],
  ['id', ({ id, why }) => (why === null ? '' : id)],
];

const sumColumns: Columns<z.output<typeof Sum>> = [
  ['install', ({ install }) => (install === '' ? '(of none)' : install)],
  ...numberColumns('days', 'differing'),
  ['hours seen', ({ seen }) => hoursOf(seen.seconds), { align: 'right' }],
  ['held', ({ held }) => hoursOf(held.seconds), { align: 'right' }],
  ['due', ({ due }) => hoursOf(due.seconds), { align: 'right' }],
  ['answered', ({ answered }) => hoursOf(answered.seconds), { align: 'right' }],
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
];

function hoursOf(seconds: number | null): number | null {
  return seconds === null ? null : toHours(seconds);
}

/** Empty if no rate is known or nothing is unpaid. */
export function toDollars(usd: number | null): string {
  return usd === null || usd === 0 ? '' : usd.toFixed(2);
}

export const check = read(
  'GET /usage/check',
  'Check that the work in tools and imports is paid, and say why it is not',
  {
    asks: 'services',
    in: z.strictObject({
      ...wantedDays,
      all: flag('Also list days without a difference.'),
      most: z
        .int()
        .min(1)
        .max(100_000)
        .default(5000)
        .describe('How many days to list at most. The sums cover all days.'),
    }),
    out: CheckedWork,
    async run({ all: isAll, most: limit, ...wanted }, ctx, { signal }) {
      const sums = new Map<string, CheckSum>();
      const days: Omit<Day, 'displayName'>[] = [];
      let left = 0;
      for await (const day of checkUsage(ctx, await toWanted(ctx, wanted), signal)) {
        sumChecked(sums, day);
        if (day.why === null && !isAll) continue;
        if (days.length < limit) days.push({ ...day, reason: day.held?.reason ?? null });
        else left += 1;
      }
      return {
        sums: [...sums.values()].map((sum) => ({ ...sum, usd: Math.round(sum.usd * 100) / 100 })),
        days: await nameEach(ctx, days.sort(latestFirst)),
        left,
        older: await findOlder(ctx, wanted),
      };
    },
    show({ sums, days, left, older }) {
      const more = `${sayCount(left, 'more day is', 'more days are')} not listed: choose less, for example by --contract.`;
      return [
        formatList(days, dayColumns, 'The marketplace has what is due.'),
        ...(left === 0 ? [] : [more]),
        ...(older === null ? [] : [`Older days need you too: --from ${older}`]),
        ...(sums.length === 0 ? [] : [formatList(sums, sumColumns, '')]),
      ].join('\n\n');
    },
    status: ({ sums }) => (sums.some(({ differing }) => differing > 0) ? 2 : 0),
  },
);

function latestFirst(one: Omit<Day, 'displayName'>, other: Omit<Day, 'displayName'>): number {
  const keyOf = ({ install, contractId, trainerId, id }: typeof one) => {
    return JSON.stringify([install, contractId, trainerId, id]);
  };
  return compareTexts(other.day, one.day) || compareTexts(keyOf(one), keyOf(other));
}

/** Why the day differs; empty if it does not. */
export function sayDifference({ why, reason }: Pick<Day, 'why' | 'reason'>): string {
  if (why === null) return '';
  return why === 'held' && reason !== null ? `held: ${describeHeld[reason]}` : describeDifference[why];
}

async function findOlder(ctx: OperationContext, { install, from }: WantedDays) {
  if (from === undefined) return null;
  const troubles = await listUsageTroubles(ctx);
  const older = troubles.filter((one) => (install === undefined || one.install === install) && one.oldest < from);
  return older.map(({ oldest }) => oldest).sort()[0] ?? null;
}

export const recount = act(
  'POST /usage/recount',
  'Compute again from the sources what is due, and correct what was stored',
  {
    asks: 'services',
    in: z.strictObject({}),
    out: z.object({
      trainers: count.describe('For whom something else was stored as due. It was mended.'),
      days: count,
    }),
    async run(_none, ctx, { signal }) {
      const wrong = await recountDue(ctx, signal);
      if (signal.aborted) {
        throw new AppError('unavailable', 'The recount was interrupted. Run it on the machine of the database');
      }
      return { trainers: wrong.length, days: wrong.reduce((sum, { days }) => sum + days.length, 0) };
    },
    show({ trainers, days }) {
      if (trainers === 0) return 'What was stored follows from the sources.';
      const wrong = `${sayCount(days, 'day')} of ${sayCount(trainers, 'trainer')}`;
      return `${wrong} did not follow from the sources, and were mended.`;
    },
    status: ({ trainers }) => (trainers === 0 ? 0 : 2),
  },
);
