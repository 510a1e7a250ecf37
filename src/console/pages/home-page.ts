import { html } from 'hono/html';
import { listMetAfter, type MetAfter } from '../../converge/receipt-store.ts';
import { percentileOf } from '../../domain/percentile.ts';
import { toInstant } from '../../lib/clock.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { loadRunning } from '../../operator/about-instances.ts';
import type { Attention } from '../../operator/attention.ts';
import { type ListedInstall, listInstalls } from '../../operator/list-installs.ts';
import { loadPresent, toMailed } from '../../operator/load-status.ts';
import { wantRead } from '../../operator/want-read.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { healthOf, pathOf } from './install-page.ts';

/** What needs a person now, and the health of both ends. */
export const homeViews: readonly View[] = [{ path: '/', show: showHome }];

/** As by the schedule: what is found is applied, and the brake holds what would be too much. */
export const homeActs: readonly Act[] = [{ path: '/read-now', act: readNow }];

const dayMs = 86_400_000;

async function showHome(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { installs, config, clock } = ctx;
  const now = clock.now().getTime();
  const ago = (days: number) => toInstant(new Date(now - days * dayMs));
  const running = await loadRunning(ctx, clock);
  const present = await loadPresent(ctx, installs, toMailed(config, toInstant(new Date(now))));
  const customers = await listInstalls(ctx, [...installs].sort(), clock.now());
  const waits = toWaits(await listMetAfter(ctx.database.kysely, ago(30)), ago(1));
  return {
    title: 'Home',
    body: html`
      <h2>What needs a person now</h2>
      ${attentionOf([...running.attention, ...present.attention])}
      <h2>Customers</h2>
      ${tableOf('When each customer was read from the marketplace', customers, customerColumns, noInstalls)}
      ${installs.size > 0 && formOf(asked, '/read-now', html`<button>Read every customer now</button>`)}
      <h2>Tools</h2>
      ${tableOf('How many memberships are in which state', present.memberships, memberColumns, noMembers)}
      <h2>How long it took</h2>
      ${tableOf('From when access was wanted, or not wanted any more, to when the tool showed it', waits, waitColumns, noWaits)}
    `,
  };
}

async function readNow({ by }: Asked, ctx: OperationContext): Promise<Redirect> {
  await wantRead(ctx, by, [...ctx.installs.keys()].sort());
  return { redirect: '/' };
}

const noInstalls = 'No customer is connected, so no trainer is hired into a tool: gangway connect';
const noMembers = 'There are no memberships yet. One appears when a contract begins whose job is linked to a project.';
const noWaits = 'Nothing was done in a tool for a month. The first trainer who gets in appears here.';

function attentionOf(attention: readonly Attention[]): Html {
  if (attention.length === 0) return html`<p class="empty">Nothing does.</p>`;
  return html`<ul class="cards">
    ${attention.map(
      ({ says, action, page, url = page }) =>
        html`<li>
          <p class="warn">${url === undefined ? says : html`<a href="${url}">${says}</a>`}</p>
          <p class="quiet">${page === undefined ? action : `On the command line: ${action}`}</p>
        </li>`,
    )}
  </ul>`;
}

const customerColumns: readonly Column<ListedInstall>[] = [
  ['customer', ({ install }) => html`<a href="${pathOf(install)}">${install}</a>`],
  ['last read', ({ readAt }) => instantOf(readAt) || 'not yet'],
  ['health', healthOf],
];

const memberColumns: readonly Column<{ tool: string; state: string; count: number }>[] = [
  ['tool', ({ tool }) => tool],
  ['state', ({ state }) => html`<a href="/access?${new URLSearchParams({ state })}">${state}</a>`],
  ['memberships', ({ count }) => count, 'number'],
];

interface Wait {
  what: string;
  over: string;
  values: number[];
}

/** The waits of a month, and those of the last day, for access and for lock-out. */
function toWaits(met: readonly MetAfter[], yesterday: string): Wait[] {
  const kinds = [true, false].flatMap((isAccess) => {
    const all = met.filter((one) => one.isAccess === isAccess);
    const what = isAccess ? 'access' : 'lock-out';
    const values = (some: readonly MetAfter[]) => some.map(({ ms }) => ms);
    return [
      { what, over: 'a day', values: values(all.filter(({ at }) => at >= yesterday)) },
      { what, over: '30 days', values: values(all) },
    ];
  });
  return kinds.filter(({ values }) => values.length > 0);
}

const waitColumns: readonly Column<Wait>[] = [
  ['time to', ({ what }) => what],
  ['over', ({ over }) => over],
  ['memberships', ({ values }) => values.length, 'number'],
  ['half within', ({ values }) => toSeconds(percentileOf(values, 0.5)), 'number'],
  ['95 of 100 within', ({ values }) => toSeconds(percentileOf(values, 0.95)), 'number'],
];

function toSeconds(ms: number | null): string {
  return ms === null ? '' : `${(ms / 1000).toFixed(1)} s`;
}
