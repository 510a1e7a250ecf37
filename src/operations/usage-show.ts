import { z } from 'zod';
import { toAppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { countNames, isNothing } from '../domain/usage.ts';
import { maskText } from '../lib/mask.ts';
import { nameEach } from '../memberships/membership-list-store.ts';
import { describeDifference, differenceOf } from '../usage/due/explain-day.ts';
import { type ShownDay, showGaps, showUsage } from '../usage/due/show-usage.ts';
import { findImport } from '../usage/import/import-store.ts';
import { trainerColumns } from './access.ts';
import { findOneContract } from './contracts.ts';
import { type OperationContext, read } from './operation.ts';
import type { Columns } from './show.ts';
import { formatList } from './text-table.ts';
import { Counts, HeldWork, ofScope, WorkedOn, whyDifferent } from './usage-values.ts';
import { day, flag, instant, maybeInstant, maybeText, named, oneContract } from './values.ts';

/** The work on one contract, in the tool, in the ledger and at the marketplace. */

const Day = named('UsageDay', {
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
});

type Day = z.output<typeof Day>;

const Usage = z.object({
  install: z.string(),
  contractId: z.string(),
  title: maybeText,
  days: z.array(Day),
  held: z.array(HeldWork),
  reported: Counts.describe('The sum of all days that were ever reported.'),
  gaps: z
    .array(z.object({ ...ofScope, since: maybeInstant, says: z.string() }))
    .describe('What a tool cannot report at present.'),
  fallen: z
    .array(z.object({ ...ofScope, trainerId: z.string(), since: instant, fallen: Counts }))
    .describe('Totals of a tool that are below what was counted.'),
  failing: z.array(z.object({ ...ofScope, readAt: maybeInstant, failure: z.string() })),
  files: z.record(z.string(), z.string()).describe('The names of imported files, by source.'),
  consumed: z.union([Counts, z.string()]).describe('What the marketplace says was consumed, or why it says nothing.'),
  unreported: Counts.nullable().describe('What was consumed beyond what was reported; null if it is not known.'),
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
      ...oneContract,
      stored: flag('Only what is stored here: do not ask the marketplace what was consumed.'),
    }),
    out: Usage,
    async run({ contract, install: named, stored }, ctx, { signal }) {
      const { install, contractId, title } = await findOneContract(ctx.database.kysely, contract, named);
      const { days, held, ...shown } = await showUsage(ctx, { install, contractId }, signal);
      const consumed = stored
        ? 'The marketplace was not asked.'
        : await readConsumed(ctx, { install, contractId }, signal);
      const usage = {
        ...shown,
        ...(await showGaps(ctx, install, contractId)),
        title,
        days: await nameEach(ctx, days),
        held: await nameEach(ctx, held),
        files: await nameFiles(ctx, days),
        consumed,
        unreported: typeof consumed === 'string' ? null : differenceOf(consumed, shown.reported),
      };
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

async function nameFiles({ database }: OperationContext, days: readonly ShownDay[]): Promise<Usage['files']> {
  const seenBy = new Set(days.flatMap(({ observations }) => observations.map(({ source }) => source)));
  const files: Usage['files'] = {};
  for (const source of seenBy) {
    const id = /^import:(\d+)$/.exec(source)?.[1];
    const found = id === undefined ? undefined : await findImport(database.kysely, Number(id));
    if (found !== undefined) files[source] = found.fileName;
  }
  return files;
}

async function readConsumed(
  { sources }: OperationContext,
  { install, contractId }: ContractKey,
  signal: AbortSignal,
): Promise<Usage['consumed']> {
  try {
    const budget = await sources.get(install)?.readBudget(contractId, signal);
    return budget?.consumed ?? 'The marketplace does not say what was consumed.';
  } catch (error) {
    return maskText(toAppError(error).message);
  }
}

function columnsOf({ files }: Usage): Columns<Day> {
  return [
    ['day', ({ day: of }) => of],
    ...trainerColumns,
    ...countNames.flatMap((name) => [
      [`${name} due`, ({ due }: Day) => due?.[name], { align: 'right' }] as const,
      ['sent', ({ sent }: Day) => sent?.[name], { align: 'right' }] as const,
    ]),
    ['source', ({ observations }) => observations.map((one) => toSource(one, files)).join(', ')],
    [
      'at',
      ({ observations }) =>
        observations
          .map(({ seenAt }) => seenAt)
          .sort()
          .at(-1),
    ],
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

function toRemark({ why, report }: Day): string {
  const { message = null, status = null, lowered = null } = report ?? {};
  const answer = message === null ? '' : `${status === null ? '' : `${status}: `}${message}`;
  const less = lowered === null ? '' : `lowered at ${lowered.at} from ${toSum(lowered.from)}`;
  return [why === null ? '' : describeDifference[why], less, answer].filter((part) => part !== '').join('; ');
}

function toSum(counts: Counts): string {
  return countNames.map((name) => `${counts[name] ?? 'no'} ${name}`).join(', ');
}

/** Why the tool and the ledger differ, and on which days. */
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
        `${tool} shows less work of ${trainerId} at ${scope} than was counted, by ${toParts(less)}, since ${since}. The same amount of what they do next does not count.`,
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
function sayConsumed({ unreported, days }: Usage): string[] {
  if (unreported === null || isNothing(unreported)) return [];
  const isInDoubt = days.some(({ report }) => report?.state === 'in_doubt');
  const why = isInDoubt
    ? 'a request whose answer was lost may have arrived; what is in doubt is sent again.'
    : 'the marketplace counts work in its own tools too, and a request may have arrived late.';
  return [`Consumed and reported differ by ${toParts(unreported)}: ${why}`];
}
