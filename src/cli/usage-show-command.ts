import { type Counts, countNames } from '../domain/usage.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { type DescribedUsage, describeUsage } from '../operator/describe-usage.ts';
import { describeDifference } from '../usage/due/describe-due.ts';
import type { ConsumedExplanation } from '../usage/show/explain-consumed.ts';
import type { ContractGaps } from '../usage/show/show-gaps.ts';
import type { ShownDay, ShownObservation } from '../usage/show/show-usage.ts';
import type { Printed } from './define-command.ts';
import type { ServicesSession } from './session.ts';

/** `gangway usage show`: the work on one contract, as the tool, the ledger and the marketplace know it. */
export async function runUsageShow(
  named: { contract: string; install: string | undefined },
  { terminal, services }: ServicesSession,
): Promise<Printed> {
  return printUsage(await describeUsage(services, named, terminal.signal));
}

export function printUsage(usage: DescribedUsage): Printed {
  const differences = [...explain(usage), ...toVerdict(usage.explained), ...sayGaps(usage)];
  return {
    data: { ...usage, differences },
    text: () => [toTable(usage), '', ...toSums(usage), ...differences].join('\n'),
  };
}

function toTable({ days, files }: DescribedUsage): string {
  const columns: Columns<ShownDay> = [
    ['day', ({ day }) => day],
    ['trainer', ({ trainerId }) => trainerId],
    ...countNames.flatMap((name) => [
      [`${name} due`, ({ due }: ShownDay) => due?.[name], { align: 'right' }] as const,
      ['sent', ({ sent }: ShownDay) => sent?.[name], { align: 'right' }] as const,
    ]),
    ['source', ({ observations }) => observations.map((observation) => toSource(observation, files)).join(', ')],
    ['at', ({ observations }) => observations.map(({ seenAt }) => seenAt).reduce(laterOf, '')],
    ['state', ({ report }) => report?.state ?? 'not sent'],
    ['sent at', ({ report }) => report?.sentAt],
    ['request', ({ report }) => report?.requestId],
    ['', toRemark],
  ];
  return formatList(days, columns, 'Nothing is due and nothing was sent.');
}

function toSource({ source, workedOn }: ShownObservation, files: Record<string, string>): string {
  const file = files[source];
  if (file !== undefined) return `${source} ${file}`;
  return workedOn.by === 'scope' ? `${workedOn.tool} ${workedOn.scope}` : source;
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}

function toRemark({ why, report }: ShownDay): string {
  const { message = null, status = null, lowered = null } = report ?? {};
  const answer = message === null ? '' : `${status === null ? '' : `${status}: `}${message}`;
  const less = lowered === null ? '' : `lowered at ${lowered.at} from ${toSum(lowered.from)}`;
  return [why === null ? '' : describeDifference[why], less, answer].filter((text) => text !== '').join('; ');
}

function toSums({ reported, consumed }: DescribedUsage): string[] {
  const said = typeof consumed === 'string' ? consumed : toSum(consumed);
  return [`Reported in all: ${toSum(reported)}`, `Consumed by the marketplace: ${said}`];
}

function toSum(counts: Counts): string {
  return countNames.map((name) => `${counts[name] ?? 'no'} ${name}`).join(', ');
}

/** Why tool and ledger differ, and on how many days. */
function explain({ days, held }: DescribedUsage): string[] {
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
  const named = [...new Set(days.map(({ day }) => day))];
  const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
  return `${named.slice(0, mostNamed).join(', ')}${more}`;
}

/** Why less may be counted than was done. */
function sayGaps({ gaps, fallen, failing }: ContractGaps): string[] {
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
function toVerdict(explained: ConsumedExplanation | null): string[] {
  if (explained === null || explained.verdict === 'equal') return [];
  const { verdict, difference, arrived } = explained;
  const by = toParts(difference);
  const why = {
    explained: `just that is in the requests of ${arrived.join(', ')}, whose answers were lost.`,
    more: 'the marketplace counts work in its own tools too.',
    less: 'a request may have arrived late; what is in doubt is sent again.',
  };
  return [`Consumed and reported differ by ${by}: ${why[verdict]}`];
}
