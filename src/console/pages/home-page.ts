import { html } from 'hono/html';
import { listMetAfter, type MetAfter } from '../../converge/receipt-store.ts';
import { percentileOf } from '../../domain/percentile.ts';
import { toInstant } from '../../lib/clock.ts';
import { sayCount } from '../../lib/say-count.ts';
import type { Severity } from '../../lib/trouble-rules.ts';
import type { Trouble } from '../../lib/troubles.ts';
import { countByState } from '../../memberships/membership-list-store.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { type ListedInstall, listInstalls } from '../../operator/list-installs.ts';
import { listTroubles } from '../../operator/list-troubles.ts';
import { loadInstances } from '../../operator/load-running.ts';
import { wantRead } from '../../operator/want-read.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { badgeOf } from '../view/badge.ts';
import { instantOf } from '../view/instant.ts';
import { panelOf } from '../view/panel.ts';
import { type Column, tableOf } from '../view/table.ts';
import { healthOf, pathOf } from './install-page.ts';

/** A cockpit: four numbers, what needs attention, and how customers and tools are. */
export const homeViews: readonly View[] = [{ path: '/', show: showHome }];

/** As by the schedule: what is found is applied, and the brake holds what would be too much. */
export const homeActs: readonly Act[] = [{ path: '/read-now', act: readNow }];

const dayMs = 86_400_000;

async function showHome(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { installs, clock } = ctx;
  const now = clock.now().getTime();
  const ago = (days: number) => toInstant(new Date(now - days * dayMs));
  const memberships = await countByState(ctx.database.kysely);
  const troubles = await listTroubles(ctx);
  const customers = await listInstalls(ctx, [...installs].sort(), troubles);
  const times = toTimes(await listMetAfter(ctx.database.kysely, ago(30)), ago(1));
  const alive = (await loadInstances(ctx, clock.now())).filter(({ state }) => state === 'running').length;
  return {
    title: 'Home',
    note: alive > 0 ? badgeOf(`Running, ${sayCount(alive, 'instance')}`, 'good') : badgeOf('Not running', 'bad'),
    acts: installs.size > 0 ? formOf(asked, '/read-now', html`<button>Sync now</button>`) : '',
    body: html`
      ${tilesOf(memberships, troubles)}
      ${panelOf('Needs attention', troublesOf(troubles), html`<span class="quiet">${troubles.length}</span>`)}
      <div class="two">
        ${panelOf(
          'Customers',
          tableOf('Customers', customers, customerColumns, noInstalls),
          html`<a href="/installs">All customers</a>`,
        )}
        ${panelOf('Tools', tableOf('Tools', toTools(memberships), toolColumns, noMembers))}
      </div>
      ${panelOf(
        'Time to access and to lock-out',
        tableOf('Times', times, timeColumns, noTimes),
        html`<span class="quiet">median · p95</span>`,
      )}
    `,
  };
}

type StateCount = Awaited<ReturnType<typeof countByState>>[number];

/** Four numbers, each a link to the people behind it. */
function tilesOf(memberships: readonly StateCount[], troubles: readonly Trouble[]): Html {
  const inState = (...states: string[]) => sum(memberships.filter(({ state }) => states.includes(state)));
  const invitations = troubles.find(({ kind }) => kind === 'invitation_waiting')?.count ?? 0;
  const tiles = [
    ['/access?state=active', inState('active'), 'have access', ''],
    ['/access?state=pending', inState('pending', 'failed'), 'cannot get in', 'bad'],
    ['/plans', inState('held'), 'removals on hold', 'held'],
    ['/invitations', invitations, 'invitations to send', 'warn'],
  ] as const;
  return html`<div class="tiles">
    ${tiles.map(([href, count, says, tone]) => html`<a class="tile ${count > 0 ? tone : ''}" href="${href}"><b>${count}</b>${says}</a>`)}
  </div>`;
}

function sum(rows: readonly { count: number }[]): number {
  return rows.reduce((total, { count }) => total + count, 0);
}

async function readNow({ by }: Asked, ctx: OperationContext): Promise<Redirect> {
  await wantRead(ctx, by, [...ctx.installs.keys()].sort());
  return { redirect: '/' };
}

const noInstalls = 'No customer is connected yet. Connect one to hire trainers into a tool.';
const noMembers = 'Nobody is in a tool yet. A tool appears here when the first trainer gets in.';
const noTimes = 'Nobody got in or was locked out in the last 30 days.';

const severityBadges: Record<Severity, Html> = {
  down: badgeOf('Down', 'bad'),
  held: badgeOf('On hold', 'held'),
  waiting: badgeOf('Waiting', 'warn'),
  notice: badgeOf('Notice', 'gone'),
};

function troublesOf(troubles: readonly Trouble[]): Html {
  if (troubles.length === 0) return html`<p class="empty">Nothing needs you.</p>`;
  return html`${troubles.map(({ severity, says, since, detail, action, url, page }) => {
    const leadsTo = url ?? page;
    return html`<div class="todo">
        ${severityBadges[severity]}
        <p>${says}</p>
        <span>${instantOf(since)}</span>
        ${leadsTo !== null && html`<a class="button" href="${leadsTo}">Open</a>`}
        <p class="detail">${leadsTo === null ? [detail, action].filter(Boolean).join('. ') : detail}</p>
      </div>`;
  })}`;
}

const customerColumns: readonly Column<ListedInstall>[] = [
  ['Customer', ({ install }) => html`<a href="${pathOf(install)}">${install}</a>`],
  ['State', healthOf],
  ['Last read', ({ readAt }) => instantOf(readAt) || 'not yet'],
];

interface ToolCounts {
  tool: string;
  active: number;
  pending: number;
  held: number;
}

function toTools(memberships: readonly StateCount[]): ToolCounts[] {
  return [...Map.groupBy(memberships, ({ tool }) => tool)].map(([tool, some]) => {
    const inState = (...states: string[]) => sum(some.filter(({ state }) => states.includes(state)));
    return { tool, active: inState('active'), pending: inState('pending', 'failed', 'invited'), held: inState('held') };
  });
}

const toolColumns: readonly Column<ToolCounts>[] = [
  ['Tool', ({ tool }) => html`<a href="/access?${new URLSearchParams({ tool })}">${tool}</a>`],
  ['Active', ({ active }) => active, 'number'],
  ['Pending', ({ pending }) => pending, 'number'],
  ['Held', ({ held }) => held, 'number'],
];

interface Times {
  what: string;
  day: readonly number[];
  month: readonly number[];
}

function toTimes(met: readonly MetAfter[], yesterday: string): Times[] {
  const of = (isAccess: boolean, what: string) => {
    const all = met.filter((one) => one.isAccess === isAccess);
    const latest = all.filter(({ at }) => at >= yesterday);
    return { what, day: latest.map(({ ms }) => ms), month: all.map(({ ms }) => ms) };
  };
  return [of(true, 'From hired to access'), of(false, 'From ended to locked out')].filter(
    ({ month }) => month.length > 0,
  );
}

const timeColumns: readonly Column<Times>[] = [
  ['Measure', ({ what }) => what],
  ['Last 24 h', ({ day }) => sayTimes(day), 'number'],
  ['Last 30 days', ({ month }) => sayTimes(month), 'number'],
  ['People', ({ month }) => month.length, 'number'],
];

function sayTimes(ms: readonly number[]): string {
  const [median, p95] = [0.5, 0.95].map((part) => percentileOf([...ms], part));
  return median == null || p95 == null ? '' : `${sayTime(median)} · ${sayTime(p95)}`;
}

function sayTime(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
