import { html } from 'hono/html';
import { addDays } from '../../lib/days.ts';
import { sayCount } from '../../lib/text.ts';
import { trainerColumns } from '../../operations/access.ts';
import { operationOf } from '../../operations/all.ts';
import type { Columns } from '../../operations/show.ts';
import {
  type CheckedDay,
  type CheckedWork,
  type CheckSum,
  dayColumns,
  sayDifference,
  toDollars,
} from '../../operations/usage-check.ts';
import { toWanted } from '../../operations/usage-report.ts';
import { sayCounts, workPath } from '../../operations/usage-values.ts';
import { whyLong } from '../../usage/due/check-usage.ts';
import { actButton } from '../act.ts';
import { askLong, inputIn } from '../ask.ts';
import type { Answer, ConsoleContext, Html, Page, PageRequest, Redirect } from '../page.ts';
import { filterForm, pager, toRowId } from '../view/filter.ts';
import { tableOf } from '../view/table.ts';
import { fileOf, filterOf } from './lists.ts';

/** The number of days that are shown by default. */
const spanDays = 14;
const pageSize = 100;

/** What the tools and imports have, what is due, what the marketplace has, and why they differ. */
export async function showWork(given: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const request = withSpan(given, ctx);
  const { query } = request;
  const filter = filterForm(request, filterOf(check, request, ctx, ['install', 'contract', 'from', 'to', 'all']));
  const { answer, instead } = await checkedOf(request, ctx, filter);
  if (instead) return instead;
  const { sums, days, left } = answer;
  const skipped = toRowId(query.get('cursor')) ?? 0;
  const shown = days.slice(skipped, skipped + pageSize);
  const end = skipped + shown.length;
  return {
    title: 'Work',
    acts: days.length > 0 ? html`<a class="button" href="/work.csv?${query}">Export CSV</a>` : '',
    isStill: true,
    body: html`
      ${filter}
      ${olderOf(answer, query)}
      ${tableOf('Sums of each customer', sums, sumColumns, `No work is known of these days. It is read in the tools and reported by the schedule “${ctx.config.usage.schedule}” (UTC).`)}
      <h2>${query.has('all') ? 'Days' : 'Days that differ'}</h2>
      ${tableOf('Days of trainers on contracts, the latest first', shown, columns, 'The marketplace has what is due.', [['to do', (one) => toDo(request, one)]])}
      ${pager(request, end < days.length ? end : null)}
      ${left > 0 && html`<p class="warn">${sayCount(left, 'more day is', 'more days are')} not listed: choose less.</p>`}
      <p><a href="/work/held">Held work, late changes and lowered days</a></p>
    `,
  };
}

const check = operationOf('usageCheck');

async function checkedOf(request: PageRequest, ctx: ConsoleContext, above?: Html) {
  const input = inputIn(check, request.query);
  const asked = { id: check.id, input, title: 'Work', whyLong: await whyLong(ctx, await toWanted(ctx, input)), above };
  return await askLong<CheckedWork>(request, ctx, asked);
}

function withSpan(request: PageRequest, { clock }: ConsoleContext): PageRequest {
  const query = new URLSearchParams(request.query);
  if (!query.get('to')) query.set('to', clock.now().toISOString().slice(0, 10));
  const to = query.get('to') ?? '';
  if (!query.get('from') && /^[12]\d{3}-\d\d-\d\d$/.test(to) && !Number.isNaN(Date.parse(to)))
    query.set('from', addDays(to, 1 - spanDays));
  return { ...request, query };
}

/** Leads to what waits from before the span. */
function olderOf({ older }: CheckedWork, query: URLSearchParams): Html | string {
  if (older === null) return '';
  const { started: _other, ...same } = Object.fromEntries(query);
  const since = new URLSearchParams({ ...same, from: older });
  return html`<p class="warn">Older days need you too. <a href="/work?${since}">Show all since ${older}</a></p>`;
}

const sumColumns: Columns<CheckSum> = [
  [
    'install',
    ({ install }) => install || 'of none',
    { to: ({ install }) => install && `/work?${new URLSearchParams({ install })}` },
  ],
  ['tools and imports have', ({ seen }) => sayCounts(seen)],
  ['held', ({ held }) => sayCounts(held)],
  ['due', ({ due }) => sayCounts(due)],
  ['marketplace has', ({ answered }) => sayCounts(answered)],
  ['days', ({ days }) => days, { align: 'right' }],
  ['differ', ({ differing }) => differing || '', { align: 'right' }],
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
];

const columns: Columns<CheckedDay> = [
  ['day', ({ day }) => day],
  ...trainerColumns,
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId, { to: (one) => one.contractId && workPath(one) }],
  ['tools and imports have', ({ seen }) => sayCounts(seen)],
  ['due', ({ due }) => sayCounts(due)],
  ['marketplace has', ({ answered }) => sayCounts(answered)],
  ['why', sayDifference],
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
];

const decisions: Record<string, string> = {
  held: 'assign or discard it',
  discarded: 'take it back',
  late: 'send or dismiss it',
  lowering_held: 'accept it',
  refused: 'see the answer',
  unsent: 'see the answer',
};

function toDo(request: PageRequest, one: CheckedDay): Html | string {
  const why = one.why ?? '';
  if (why === 'dismissed') return actButton(request, 'usageSend', { day: one.id }, { label: 'Send it' });
  const says = decisions[why];
  const path = why === 'held' || why === 'discarded' || why === 'late' ? '/work/held' : workPath(one);
  return says === undefined ? '' : html`<a href="${path}">${says}</a>`;
}

export async function downloadWork(request: PageRequest, ctx: ConsoleContext): Promise<Answer> {
  const { answer, instead } = await checkedOf(withSpan(request, ctx), ctx);
  return instead ?? fileOf('work', answer.days, dayColumns);
}
