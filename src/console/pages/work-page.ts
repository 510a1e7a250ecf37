import { html } from 'hono/html';
import type { ContractKey } from '../../domain/evidence.ts';
import { type Counts, countNames, type Day } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import { maskText } from '../../lib/mask.ts';
import { sayCount } from '../../lib/say-count.ts';
import { writeCsv } from '../../lib/write-csv.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { checkWork, type ListedDay, sayDifference } from '../../operator/check-work.ts';
import { nameTrainers } from '../../operator/install-people-store.ts';
import { type CheckSum, isOpenDifference } from '../../usage/due/check-usage.ts';
import { listUsageTroubles } from '../../usage/due/trouble-store.ts';
import type { Asked, Download, Html, Page, View } from '../page.ts';
import { trainerLink } from '../view/access-cells.ts';
import { describeCounts } from '../view/counts.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { dayOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What the tools and imports have, what is due, what the marketplace has, and why they differ. */
export const workViews: readonly View[] = [
  { path: '/work', show: showWork },
  { path: '/work.csv', show: downloadWork },
];

/** So many days are shown where none is chosen. */
const spanDays = 14;
const pageSize = 100;
/** So many rows a file has at most. */
const mostRows = 100_000;
const yes = ['yes'] as const;

/** A row of the table, with the trainer's name where it is known. */
type NamedDay = ListedDay & { displayName: string | null };

async function showWork(asked: Asked, ctx: OperationContext): Promise<Page> {
  const wish = toWish(asked, ctx);
  const { sums, days, left } = await checkWork(ctx, wish);
  const skipped = toRowId(asked.query.get('after')) ?? 0;
  const shown = days.slice(skipped, skipped + pageSize);
  const names = await nameTrainers(ctx.database, [...new Set(shown.map(({ trainerId }) => trainerId))]);
  const rows = shown.map((one) => ({ ...one, displayName: names.get(one.trainerId) ?? null }));
  const end = skipped + shown.length;
  const query = new URLSearchParams({ ...Object.fromEntries(asked.query), from: wish.from, to: wish.to });
  query.delete('after');
  return {
    title: 'Work',
    isStill: true,
    body: html`
      ${filterForm({ ...asked, query }, [
        { name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() },
        { name: 'contract', label: 'contract id' },
        { name: 'from', label: 'from', type: 'date' },
        { name: 'to', label: 'to', type: 'date' },
        { name: 'all', label: 'days that do not differ too', options: yes },
      ])}
      ${await olderOf(ctx, wish, query)}
      ${tableOf('Sums of each install', sums, sumColumns, whenEmpty(ctx.config.usage.schedule))}
      <h2>${wish.isAll ? 'Days' : 'Days that differ'}</h2>
      ${tableOf('Days of trainers on contracts, the latest first', rows, dayColumns, noDifference)}
      ${pager(asked, end < days.length ? end : undefined, 'after')}
      ${left > 0 && html`<p class="warn">${sayCount(left, 'more day is', 'more days are')} not listed: choose less.</p>`}
      <p>
        ${days.length > 0 && html`<a href="/work.csv?${query}">Download these as CSV</a> (at most 100,000 rows) · `}
        <a href="/work/held">Held work, late changes and lowered days</a>
      </p>
    `,
  };
}

function toWish({ query }: Asked, ctx: OperationContext) {
  const install = chosen(query, 'install');
  const to = dayIn(query.get('to')) ?? ctx.clock.now().toISOString().slice(0, 10);
  return {
    installs: [...ctx.installs.keys()].filter((name) => install === undefined || name === install),
    contractId: chosen(query, 'contract'),
    from: dayIn(query.get('from')) ?? addDays(to, 1 - spanDays),
    to,
    isAll: chosenOf(query, 'all', yes) !== undefined,
  };
}

/** Undefined for anything that is no day. */
function dayIn(text: string | null | undefined): Day | undefined {
  if (text == null || !/^[12]\d{3}-\d\d-\d\d$/.test(text)) return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== text ? undefined : text;
}

/** Leads to what waits from before the span. */
async function olderOf(
  ctx: OperationContext,
  { installs, from }: { installs: readonly string[]; from: Day },
  query: URLSearchParams,
): Promise<Html | string> {
  const troubles = await listUsageTroubles(ctx);
  const older = troubles.filter(({ install, oldest }) => installs.includes(install) && oldest < from);
  const oldest = older.map((one) => one.oldest).sort()[0];
  if (oldest === undefined) return '';
  const since = new URLSearchParams({ ...Object.fromEntries(query), from: oldest });
  return html`<p class="warn">Older days need you too. <a href="/work?${since}">Show all since ${oldest}</a></p>`;
}

const noDifference = 'The marketplace has what is due.';

function whenEmpty(schedule: string): string {
  return `No work is known of these days. It is read in the tools and reported by the schedule “${schedule}” (UTC).`;
}

const sumColumns: readonly Column<CheckSum>[] = [
  [
    'install',
    ({ install }) =>
      install === '' ? 'of none' : html`<a href="/work?${new URLSearchParams({ install })}">${install}</a>`,
  ],
  ['tools and imports have', ({ seen }) => describeCounts(seen)],
  ['held', ({ held }) => describeCounts(held)],
  ['due', ({ due }) => describeCounts(due)],
  ['marketplace has', ({ answered }) => describeCounts(answered)],
  ['days', ({ days }) => days, 'number'],
  ['differ', ({ differing }) => (differing > 0 ? html`<span class="warn">${differing}</span>` : ''), 'number'],
  ['US$ unpaid', ({ usd }) => toDollars(usd), 'number'],
];

const dayColumns: readonly Column<NamedDay>[] = [
  ['day', ({ day }) => dayOf(day)],
  ['trainer', trainerLink],
  ['install', ({ install }) => install],
  ['contract', (one) => one.contractId && html`<a href="${workOf(one)}">${one.contractId}</a>`],
  ['tools and imports have', ({ seen }) => describeCounts(seen)],
  ['due', ({ due }) => describeCounts(due)],
  ['marketplace has', ({ answered }) => describeCounts(answered)],
  [
    'why',
    (one) => (isOpenDifference(one) ? html`<span class="warn">${sayDifference(one)}</span>` : sayDifference(one)),
  ],
  ['to do', toDo],
  ['US$ unpaid', ({ usd }) => toDollars(usd), 'number'],
];

/** Nothing where no rate is known, or the difference is nothing. */
function toDollars(usd: number | null): string {
  return usd === null || usd === 0 ? '' : usd.toFixed(2);
}

export function workOf({ install, contractId }: ContractKey): string {
  return `/work/contracts/${encodeURIComponent(contractId)}?${new URLSearchParams({ install })}`;
}

function toDo(one: ListedDay): Html | string {
  const decision = decisions[one.why ?? ''];
  if (decision !== undefined) return html`<a href="/work/held/${one.id}">${decision}</a>`;
  if (one.why === 'lowering_held') return html`<a href="${workOf(one)}">accept it</a>`;
  return one.why === 'refused' || one.why === 'unsent' ? html`<a href="${workOf(one)}">see the answer</a>` : '';
}

const decisions: Record<string, string> = {
  held: 'assign or discard it',
  discarded: 'take it back',
  late: 'send or dismiss it',
  dismissed: 'send it',
};

async function downloadWork(asked: Asked, ctx: OperationContext): Promise<Download> {
  const { days } = await checkWork(ctx, { ...toWish(asked, ctx), limit: mostRows });
  const content = writeCsv([titles, ...days.map(toCells)]);
  return { fileName: 'work.csv', type: 'text/csv; charset=utf-8', content };
}

const sides = ['seen', 'due', 'answered'] as const;
const titles = [
  ...['day', 'install', 'contract', 'trainer id'],
  ...sides.flatMap((side) => countNames.map((name) => `${name} ${side}`)),
  ...['usd unpaid', 'why', 'id'],
];

function toCells(one: ListedDay): (string | number | null)[] {
  const { day, install, contractId, trainerId, usd, why, id } = one;
  return [
    ...[day, install, maskText(contractId), maskText(trainerId)],
    ...sides.flatMap((side) => toNumbers(one[side])),
    ...[usd, sayDifference(one), why === null ? null : id],
  ];
}

function toNumbers(counts: Counts): (number | null)[] {
  return countNames.map((name) => counts[name]);
}
