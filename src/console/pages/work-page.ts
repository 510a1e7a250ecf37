import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import { type Counts, countNames, type Day } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import { maskText } from '../../lib/mask.ts';
import {
  type ComparedDays,
  type ListedDifference,
  lastComparison,
  listComparedDays,
  listDifferences,
} from '../../usage/compare/comparison-store.ts';
import { describeDifference, describeHeld } from '../../usage/compare/describe-difference.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { trainerLink } from '../view/access-cells.ts';
import { chartOf } from '../view/chart.ts';
import { describeCharted, describeCounts, toCharted } from '../view/counts.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { dayOf, instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** The work of all trainers by day: as the tools counted it, as the marketplace has it, and what waits. */
export const workViews: readonly View[] = [
  { path: '/work', show: showWork },
  { path: '/work/days/:day', show: showDay },
  { path: '/work/held', show: showHeld },
];

const spanDays = 30;
const pageSize = 100;
const yes = ['yes'] as const;

async function showWork(asked: Asked, ctx: ConsoleParts): Promise<Page> {
  const { query } = asked;
  const install = chosen(query, 'install');
  const differs = chosenOf(query, 'differs', yes);
  const today = ctx.clock.now().toISOString().slice(0, 10);
  const to = dayIn(query.get('to')) ?? today;
  const from = addDays(to, 1 - spanDays);
  const days = await listComparedDays(ctx, { install, from, to });
  const count = chosenOf(query, 'count', countNames) ?? countedIn(days);
  const shown = differs === undefined ? days : days.filter((one) => one.differing + one.held > 0);
  const last = await lastComparison(ctx);
  return {
    title: 'Work',
    body: html`
      ${filterForm(asked, [
        { name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() },
        { name: 'count', label: 'chart of', options: countNames },
        { name: 'differs', label: 'tool and marketplace differ', options: yes },
        { name: 'to', label: 'until', type: 'date' },
      ])}
      ${last && comparedAt(last)}
      ${days.length > 0 && chartOfDays(days, { count, from, to })}
      ${tableOf(
        'Work by day, the latest first, as the tools counted it and as the marketplace has it',
        shown,
        dayColumns(install),
        whenEmpty(last !== undefined, ctx.config.usage.schedule),
      )}
      ${spanPager(asked, { from, to }, today)}
      <p><a href="/work/held">All that is held, and why</a></p>
    `,
  };
}

/** What the chart shows unless it is chosen: not every tool counts all. */
function countedIn(days: readonly ComparedDays[]): keyof Counts {
  return countNames.find((name) => days.some(({ seen, sent }) => seen[name] || sent[name])) ?? 'seconds';
}

function comparedAt({ at, left }: { at: string; left: number }): Html {
  return html`<p class="quiet">
    As compared at ${instantOf(at)}, after the last report. The page of a contract compares anew.
    ${left > 0 && html`<strong class="warn">${left} more differences are not listed.</strong>`}
  </p>`;
}

function whenEmpty(wasCompared: boolean, schedule: string): string {
  return wasCompared
    ? 'No such day. A day appears when work is read in a tool, or imported, and choosing less shows more days.'
    : `Nothing was compared yet. Work is read in the tools and reported by the schedule “${schedule}” (UTC), and compared after that.`;
}

function chartOfDays(days: readonly ComparedDays[], { count, from, to }: { count: keyof Counts; from: Day; to: Day }) {
  return chartOf({
    title: `${count} of work from ${from} to ${to}, by day: the table beneath has the numbers`,
    from,
    to,
    days: days.map(({ day, seen, sent, differing, held }) => ({
      day,
      bar: toCharted(count, sent[count]),
      line: toCharted(count, seen[count]),
      isMarked: differing + held > 0,
    })),
    legend: { bar: 'the marketplace has', line: 'the tools counted', mark: 'they differ, or work is held' },
    say: describeCharted(count),
  });
}

function dayColumns(install: string | undefined): readonly Column<ComparedDays>[] {
  const path = (day: Day) => `/work/days/${day}${install === undefined ? '' : `?${new URLSearchParams({ install })}`}`;
  return [
    ['day', ({ day }) => html`<a href="${path(day)}">${dayOf(day)}</a>`],
    ['the tools counted', ({ seen }) => describeCounts(seen)],
    ['the marketplace has', ({ sent }) => describeCounts(sent)],
    ['differ', ({ differing }) => (differing > 0 ? html`<span class="warn">${differing}</span>` : ''), 'number'],
    ['held', ({ held }) => (held > 0 ? html`<span class="warn">${held}</span>` : ''), 'number'],
  ];
}

function spanPager({ query }: Asked, { from, to }: { from: Day; to: Day }, today: Day): Html {
  const path = (until: Day) => {
    const next = new URLSearchParams(query);
    next.set('to', until);
    return `/work?${next}`;
  };
  return html`<p class="pager">
    <a href="${path(addDays(from, -1))}" rel="next">${spanDays} days before</a>
    ${to < today && html`<a href="${path(addDays(to, spanDays))}" rel="prev">${spanDays} days after</a>`}
  </p>`;
}

async function showDay(asked: Asked, ctx: ConsoleParts): Promise<Page> {
  const { params, query } = asked;
  const day = dayIn(params['day']);
  if (day === undefined) throw new AppError('not_found', 'There is no such day');
  const install = chosen(query, 'install');
  const [sums] = await listComparedDays(ctx, { install, from: day, to: day });
  const before = toRowId(query.get('before'));
  const found = await listDifferences(ctx, { day, install, before, limit: pageSize + 1 });
  const shown = found.slice(0, pageSize);
  return {
    title: `Work on ${day}`,
    body: html`
      ${filterForm(asked, [{ name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() }])}
      <dl>
        <dt>The tools counted</dt>
        <dd>${describeCounts(sums?.seen ?? null)}</dd>
        <dt>The marketplace has</dt>
        <dd>${describeCounts(sums?.sent ?? null)}</dd>
      </dl>
      <h2>Where they differ</h2>
      ${tableOf('Trainers and contracts of which the marketplace has something else', shown, differenceColumns, noDifference)}
      ${pager(asked, found.length > pageSize ? shown.at(-1)?.id : undefined)}
    `,
  };
}

const noDifference = 'They do not differ: the marketplace has what the tools counted, as far as it was read.';

async function showHeld(asked: Asked, ctx: ConsoleParts): Promise<Page> {
  const before = toRowId(asked.query.get('before'));
  const why = ['held', 'lowering_held'] as const;
  const found = await listDifferences(ctx, { why, before, limit: pageSize + 1 });
  const shown = found.slice(0, pageSize);
  return {
    title: 'Held work',
    body: html`
      <p>What stands here is not reported before an operator decides: see the page of each.</p>
      ${tableOf(
        'Work that is held, and why',
        shown,
        [['day', ({ day }) => html`<a href="/work/days/${day}">${dayOf(day)}</a>`], ...differenceColumns],
        'No work is held. Work appears here when it is not clear whose it is, or when much less is counted than was reported.',
      )}
      ${pager(asked, found.length > pageSize ? shown.at(-1)?.id : undefined)}
    `,
  };
}

const differenceColumns: readonly Column<ListedDifference>[] = [
  ['trainer', trainerLink],
  ['install', ({ install }) => install],
  [
    'contract',
    ({ install, contractId }) => contractId && html`<a href="${workOf({ install, contractId })}">${contractId}</a>`,
  ],
  ['the tools counted', ({ seen }) => describeCounts(seen)],
  ['the marketplace has', ({ sent }) => describeCounts(sent)],
  ['why', whyOf],
  ['to do', toDo],
];

export function workOf({ install, contractId }: { install: string; contractId: string }): string {
  return `/work/contracts/${encodeURIComponent(contractId)}?${new URLSearchParams({ install })}`;
}

export function whyOf({ why, held }: Pick<ListedDifference, 'why' | 'held'>): string {
  if (why !== 'held') return describeDifference[why];
  return `held: ${held === null ? '' : describeHeld[held.reason]}`;
}

function toDo({ why, heldId, install, contractId }: ListedDifference): Html | string {
  if (heldId !== null) return html`<a href="/work/held/${heldId}">assign or discard it</a>`;
  if (why === 'held') return 'it is too old to be decided';
  if (why === 'lowering_held') return html`<a href="${workOf({ install, contractId })}">accept it</a>`;
  return '';
}

/** Undefined for anything that is no day. */
function dayIn(text: string | null | undefined): Day | undefined {
  if (text == null || !/^[12]\d{3}-\d\d-\d\d$/.test(text)) return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== text ? undefined : text;
}

export function whereOf({ held }: Pick<ListedDifference, 'held'>): string {
  return held === null ? '' : maskText(`${held.source}, ${Object.values(held.workedOn).slice(1).join(' ')}`);
}
