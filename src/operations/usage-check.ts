import { z } from 'zod';
import { sayCount } from '../lib/say-count.ts';
import { checkWork, recountWork, sayDifference } from '../operator/check-work.ts';
import { toHours } from '../usage/report/usage-alerts.ts';
import { act, read } from './operation.ts';
import type { Columns } from './show.ts';
import { formatList } from './text-table.ts';
import { toWanted } from './usage-report.ts';
import { Counts, dayKey, heldReason, wantedDays, whyDifferent } from './usage-values.ts';
import { count } from './values.ts';

/** What the sources have, what is due and what the marketplace answered. */

const checkedCounts = {
  seen: Counts.describe('What the tools and imports have.'),
  due: Counts.describe('Without what is held or discarded.'),
  answered: Counts.describe('What the marketplace answered.'),
};

const Sum = z
  .object({
    install: z.string().describe('Empty for held work that may be of no known contract.'),
    days: count.describe('Days of trainers on contracts.'),
    differing: count.describe('Days with something unpaid, or paid without a source.'),
    ...checkedCounts,
    held: Counts,
    usd: z.number().describe('What is not paid, of contracts whose rate is known; negative for what is overpaid.'),
  })
  .meta({ id: 'CheckSum' });

const Day = z
  .object({
    ...dayKey,
    contractId: z.string().describe('Empty if the work may be of several, or of none.'),
    id: z.string().describe('Of held work, or of the day.'),
    ...checkedCounts,
    difference: Counts,
    usd: z.number().nullable(),
    why: whyDifferent.nullable(),
    reason: heldReason.nullable().describe('Why work is held.'),
  })
  .meta({ id: 'CheckedDay' });

type Day = z.output<typeof Day>;

const dayColumns: Columns<Day> = [
  ['day', ({ day }) => day],
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['trainer', ({ trainerId }) => trainerId],
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
  ['days', ({ days }) => days, { align: 'right' }],
  ['differing', ({ differing }) => differing, { align: 'right' }],
  ['hours seen', ({ seen }) => hoursOf(seen.seconds), { align: 'right' }],
  ['held', ({ held }) => hoursOf(held.seconds), { align: 'right' }],
  ['due', ({ due }) => hoursOf(due.seconds), { align: 'right' }],
  ['answered', ({ answered }) => hoursOf(answered.seconds), { align: 'right' }],
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
];

function hoursOf(seconds: number | null): number | null {
  return seconds === null ? null : toHours(seconds);
}

/** Nothing if no rate is known, or the difference is nothing. */
function toDollars(usd: number | null): string {
  return usd === null || usd === 0 ? '' : usd.toFixed(2);
}

export const check = read(
  'GET /usage/check',
  'Check that the work in tools and imports is paid, and say why it is not',
  {
    asks: 'services',
    in: z.strictObject({
      ...wantedDays,
      all: z.boolean().default(false).describe('List days too on which nothing differs.'),
    }),
    out: z.object({
      sums: z.array(Sum),
      days: z.array(Day).describe('The latest first, 5,000 at most.'),
      left: count.describe('Days beyond those listed.'),
    }),
    run: async ({ all: isAll, ...days }, ctx) => await checkWork(ctx, { ...(await toWanted(ctx, days)), isAll }),
    show({ sums, days, left }) {
      const more = `${sayCount(left, 'more day is', 'more days are')} not listed: choose less, for example by --contract.`;
      return [
        formatList(days, dayColumns, 'The marketplace has what is due.'),
        ...(left === 0 ? [] : [more]),
        ...(sums.length === 0 ? [] : [formatList(sums, sumColumns, '')]),
      ].join('\n\n');
    },
    status: ({ sums }) => (sums.some(({ differing }) => differing > 0) ? 2 : 0),
  },
);

export const recount = act(
  'POST /usage/recount',
  'Compute again from the sources what is due, and mend what was stored',
  {
    asks: 'services',
    in: z.strictObject({}),
    out: z.object({
      trainers: count.describe('For whom something else was stored as due. It was mended.'),
      days: count,
    }),
    run: (_none, ctx, { signal }) => recountWork(ctx, signal),
    show({ trainers, days }) {
      if (trainers === 0) return 'What was stored follows from the sources.';
      const wrong = `${sayCount(days, 'day')} of ${sayCount(trainers, 'trainer')}`;
      return `${wrong} did not follow from the sources, and were mended.`;
    },
    status: ({ trainers }) => (trainers === 0 ? 0 : 2),
  },
);
