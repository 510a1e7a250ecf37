import { z } from 'zod';
import { countNames } from '../domain/usage.ts';
import { describeUsage } from '../operator/describe-usage.ts';
import { nameEach } from '../operator/install-people-store.ts';
import { describeDifference } from '../usage/due/describe-due.ts';
import { trainerColumns } from './access.ts';
import { read } from './operation.ts';
import type { Columns } from './show.ts';
import { formatList } from './text-table.ts';
import { Counts, HeldWork, WorkedOn, whyDifferent } from './usage-values.ts';
import { day, instant, maybeInstant, maybeText, text } from './values.ts';

/** The work on one contract, as the tool, the ledger and the marketplace know it. */

const Day = z
  .object({
    trainerId: z.string(),
    displayName: maybeText,
    day,
    due: Counts.nullable(),
    observations: z.array(z.object({ source: z.string(), workedOn: WorkedOn, counts: Counts, seenAt: instant })),
    sent: Counts.nullable().describe('What the marketplace answered.'),
    difference: Counts.nullable(),
    why: whyDifferent.nullable(),
    report: z
      .object({
        state: z.string(),
        sentAt: instant,
        answeredAt: maybeInstant,
        closedAt: maybeInstant.describe('When it was sent for the last time.'),
        doubtedUntil: maybeInstant,
        heldSince: maybeInstant,
        lowered: z.object({ at: instant, from: Counts }).nullable(),
        status: z.int().nullable(),
        requestId: maybeText,
        message: maybeText,
        reportId: z.string(),
      })
      .nullable()
      .describe('Null if nothing was sent.'),
  })
  .meta({ id: 'UsageDay' });

type Day = z.output<typeof Day>;

const Usage = z.object({
  install: z.string(),
  contractId: z.string(),
  title: maybeText,
  days: z.array(Day),
  held: z.array(HeldWork),
  reported: Counts.describe('The sum of all days that were ever reported.'),
  gaps: z
    .array(z.object({ tool: z.string(), scope: z.string(), since: maybeInstant, says: z.string() }))
    .describe('What a tool cannot report at present.'),
  fallen: z
    .array(z.object({ tool: z.string(), scope: z.string(), trainerId: z.string(), since: instant, fallen: Counts }))
    .describe('Totals of a tool that are below what was counted.'),
  failing: z.array(z.object({ tool: z.string(), scope: z.string(), readAt: maybeInstant, failure: z.string() })),
  files: z.record(z.string(), z.string()).describe('The names of imported files, by source.'),
  consumed: z.union([Counts, z.string()]).describe('What the marketplace says was consumed, or why it says nothing.'),
  explained: z
    .object({
      verdict: z.enum(['equal', 'explained', 'more', 'less']),
      difference: Counts.describe('What was consumed beyond what was reported.'),
      arrived: z.array(z.string()).describe('When the requests were sent whose answers were lost.'),
    })
    .nullable(),
  differences: z.array(z.string()).describe('Why due, sent and consumed differ, in words.'),
});

export type ShownUsage = z.output<typeof Usage>;
export type UsageDay = Day;
type Usage = Omit<z.output<typeof Usage>, 'differences'>;

export const show = read(
  'GET /contracts/{contract}/usage',
  'Show the work on a contract that is due, sent and consumed, and why these differ',
  {
    asks: 'marketplace',
    in: z.strictObject({
      contract: text.describe('Its id.'),
      install: text.optional().describe('Its install, if several have a contract with this id.'),
      stored: z
        .boolean()
        .default(false)
        .describe('Only what is stored here: do not ask the marketplace what was consumed.'),
    }),
    out: Usage,
    async run(named, ctx, { signal }) {
      const described = await describeUsage(ctx, named, signal);
      const { days, held } = described;
      const usage = { ...described, days: await nameEach(ctx, days), held: await nameEach(ctx, held) };
      return { ...usage, differences: [...sayDifferences(usage), ...sayConsumed(usage), ...sayGaps(usage)] };
    },
    show: (usage) =>
      [
        formatList(usage.days, columnsOf(usage), 'Nothing is due and nothing was sent.'),
        '',
        `Reported in all: ${toSum(usage.reported)}`,
        `Consumed by the marketplace: ${typeof usage.consumed === 'string' ? usage.consumed : toSum(usage.consumed)}`,
        ...usage.differences,
      ].join('\n'),
  },
);

function columnsOf({ files }: Usage): Columns<Day> {
  return [
    ['day', ({ day: of }) => of],
    ...trainerColumns,
    ...countNames.flatMap((name) => [
      [`${name} due`, ({ due }: Day) => due?.[name], { align: 'right' }] as const,
      ['sent', ({ sent }: Day) => sent?.[name], { align: 'right' }] as const,
    ]),
    ['source', ({ observations }) => observations.map((one) => toSource(one, files)).join(', ')],
    ['at', ({ observations }) => observations.map(({ seenAt }) => seenAt).reduce(laterOf, '')],
    ['state', ({ report }) => report?.state ?? 'not sent'],
    ['sent at', ({ report }) => report?.sentAt],
    ['request', ({ report }) => report?.requestId],
    ['', toRemark],
  ];
}

function toSource({ source, workedOn }: Day['observations'][number], files: Usage['files']): string {
  const file = files[source];
  if (file !== undefined) return `${source} ${file}`;
  return workedOn.by === 'scope' ? `${workedOn.tool} ${workedOn.scope}` : source;
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}

function toRemark({ why, report }: Day): string {
  const { message = null, status = null, lowered = null } = report ?? {};
  const answer = message === null ? '' : `${status === null ? '' : `${status}: `}${message}`;
  const less = lowered === null ? '' : `lowered at ${lowered.at} from ${toSum(lowered.from)}`;
  return [why === null ? '' : describeDifference[why], less, answer].filter((part) => part !== '').join('; ');
}

function toSum(counts: Counts): string {
  return countNames.map((name) => `${counts[name] ?? 'no'} ${name}`).join(', ');
}

/** Why tool and ledger differ, and on which days. */
function sayDifferences({ days, held }: Usage): string[] {
  const lines = Object.entries(describeDifference).flatMap(([why, remark]) => {
    const some = days.filter((one) => one.why === why);
    return some.length === 0 ? [] : [`${toDays(some)}: ${remark}.`];
  });
  const states = { held: 'held', discarded: 'discarded by an operator', assigned: 'assigned by an operator' };
  const decided = Object.entries(states).flatMap(([state, says]) => {
    const some = held.filter((one) => one.state === state);
    return some.length === 0 ? [] : [`${toDays(some)}: work is ${says}, see "gangway usage held".`];
  });
  return [...lines, ...decided];
}

const mostNamed = 5;

function toDays(days: readonly { day: string }[]): string {
  const named = [...new Set(days.map(({ day: of }) => of))];
  const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
  return `${named.slice(0, mostNamed).join(', ')}${more}`;
}

/** Why less may be counted than was done. */
export function sayGaps({ gaps, fallen, failing }: Pick<Usage, 'gaps' | 'fallen' | 'failing'>): string[] {
  return [
    ...failing.map(
      ({ tool, scope, readAt, failure }) =>
        `The work at ${scope} in ${tool} ${readAt === null ? 'could never be read' : `was read last at ${readAt}`}: ${failure}.`,
    ),
    ...gaps.map(
      ({ tool, scope, since, says }) =>
        `Not all of the work at ${scope} in ${tool} can be counted since ${since}: ${says}.`,
    ),
    ...fallen.map(
      ({ tool, scope, trainerId, since, fallen: less }) =>
        `Of ${trainerId} ${tool} tells less at ${scope} than was counted since ${since}, by ${toParts(less)}: so much of what they do next does not count.`,
    ),
  ];
}

function toParts(counts: Counts): string {
  return countNames
    .filter((name) => counts[name])
    .map((name) => `${counts[name]} ${name}`)
    .join(', ');
}

/** Why the ledger and the marketplace differ. */
function sayConsumed({ explained }: Usage): string[] {
  if (explained === null || explained.verdict === 'equal') return [];
  const { verdict, difference, arrived } = explained;
  const why = {
    explained: `just that is in the requests of ${arrived.join(', ')}, whose answers were lost.`,
    more: 'the marketplace counts work in its own tools too.',
    less: 'a request may have arrived late; what is in doubt is sent again.',
  };
  return [`Consumed and reported differ by ${toParts(difference)}: ${why[verdict]}`];
}
