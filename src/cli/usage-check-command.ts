import { countNames, type Day } from '../domain/usage.ts';
import { sayCount } from '../lib/say-count.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import {
  type CheckedWork,
  checkWork,
  type ListedDay,
  type RecountedWork,
  recountWork,
  sayDifference,
} from '../operator/check-work.ts';
import { refuseUnknownContract } from '../operator/report-work.ts';
import type { CheckSum } from '../usage/due/check-usage.ts';
import { toHours } from '../usage/report/usage-alerts.ts';
import type { Printed } from './define-command.ts';
import { pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';

export interface CheckOptions {
  install: string | undefined;
  contract: string | undefined;
  from: Day | undefined;
  to: Day | undefined;
  all: boolean;
  recount: boolean;
}

/** `gangway usage check`: what the sources have, what is due, what the marketplace answered, and why they differ. */
export async function runUsageCheck(options: CheckOptions, session: ServicesSession): Promise<Printed> {
  const { services, terminal } = session;
  const { install, contract: contractId, from, to, all: isAll, recount } = options;
  const installs = pickInstalls(session, services.installs, install);
  await refuseUnknownContract(services, contractId, install);
  const recounted = recount ? await recountWork(services, terminal.signal) : null;
  return printCheck(await checkWork(services, { installs, contractId, from, to, isAll }), recounted);
}

export function printCheck({ sums, days, left }: CheckedWork, recounted: RecountedWork | null): Printed {
  const isOpen = sums.some(({ differing }) => differing > 0) || (recounted?.trainers ?? 0) > 0;
  return {
    data: { sums, days, left, ...(recounted !== null && { recounted }) },
    text: () =>
      [
        ...(recounted === null ? [] : [sayRecounted(recounted)]),
        formatList(days, dayColumns, 'The marketplace has what is due.'),
        ...(left === 0
          ? []
          : [`${sayCount(left, 'more day is', 'more days are')} not listed: choose less, for example by --contract.`]),
        ...(sums.length === 0 ? [] : [formatList(sums, sumColumns, '')]),
      ].join('\n\n'),
    status: isOpen ? 2 : 0,
  };
}

function sayRecounted({ trainers, days }: RecountedWork): string {
  if (trainers === 0) return 'Worked out anew from the sources: the same as was stored.';
  const wrong = `${sayCount(days, 'day')} of ${sayCount(trainers, 'trainer')}`;
  return `Worked out anew from the sources: ${wrong} differed from what was stored, and were mended.`;
}

const dayColumns: Columns<ListedDay> = [
  ['day', ({ day }) => day],
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ['trainer', ({ trainerId }) => trainerId],
  ...countNames.flatMap((name) => [
    [`${name} seen`, ({ seen }: ListedDay) => seen[name], { align: 'right' }] as const,
    ['due', ({ due }: ListedDay) => due[name], { align: 'right' }] as const,
    ['answered', ({ answered }: ListedDay) => answered[name], { align: 'right' }] as const,
  ]),
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
  ['because', sayDifference],
  ['id', ({ id, why }) => (why === null ? '' : id)],
];

const sumColumns: Columns<CheckSum> = [
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

/** Nothing where no rate is known, or the difference is nothing. */
function toDollars(usd: number | null): string {
  return usd === null || usd === 0 ? '' : usd.toFixed(2);
}
