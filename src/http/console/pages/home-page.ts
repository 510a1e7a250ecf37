import { html } from 'hono/html';
import type { Severity } from '../../../lib/raised-trouble-rules.ts';
import { sayCount } from '../../../lib/text.ts';
import { type Columns, installPath, numberColumns } from '../../../operations/show.ts';
import { healthOf, type Status, sayTimed, sayTimes } from '../../../operations/status.ts';
import type { ConsoleContext, Html, Page, PageRequest } from '../page.ts';
import { actButton, ask } from '../run-operation.ts';
import { badgeOf, instantOf, panelOf, tableOf } from '../view/table.ts';

/** Four numbers, what needs attention, and the state of customers and tools. */
export async function showHome(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const {
    memberships,
    troubles,
    times,
    instances,
    installs: customers,
  } = await ask<Status>(request, ctx, 'statusShow', { since: '0s' });
  const alive = instances.filter(({ state }) => state === 'running').length;
  return {
    title: 'Home',
    note: alive > 0 ? badgeOf(`Running, ${sayCount(alive, 'instance')}`, 'good') : badgeOf('Not running', 'bad'),
    acts: customers.length > 0 ? actButton(request, 'reconcileNow', {}, { label: 'Sync now' }) : '',
    body: html`
      ${tilesOf(memberships, troubles)}
      ${panelOf('Needs attention', troublesOf(troubles), html`<span class="quiet">${troubles.length}</span>`)}
      <div class="two">
        ${panelOf(
          'Customers',
          tableOf(
            'Customers',
            customers,
            customerColumns,
            'No customer is connected yet. Connect one to hire trainers into a tool.',
          ),
          html`<a href="/installs">All customers</a>`,
        )}
        ${panelOf('Tools', tableOf('Tools', toTools(memberships), toolColumns, 'Nobody is in a tool yet. A tool appears here when the first trainer gets in.'))}
      </div>
      ${panelOf(
        'Time to access and to lock-out',
        tableOf('Times', times, timeColumns, 'Nobody got in or was locked out in the last 30 days.'),
        html`<span class="quiet">median · p95</span>`,
      )}
    `,
  };
}

type StateCount = Status['memberships'][number];
type Trouble = Status['troubles'][number];

/** Four numbers, each a link to the people behind it. */
function tilesOf(memberships: readonly StateCount[], troubles: readonly Trouble[]): Html {
  const invitations = troubles.find(({ kind }) => kind === 'invitation_waiting')?.count ?? 0;
  const tiles = [
    ['/access?state=active', sumOf(memberships, 'active'), 'have access', ''],
    ['/access?state=pending', sumOf(memberships, 'pending', 'failed'), 'cannot get in', 'bad'],
    ['/plans', sumOf(memberships, 'held'), 'removals on hold', 'held'],
    ['/invitations', invitations, 'invitations to send', 'warn'],
  ] as const;
  return html`<div class="tiles">
    ${tiles.map(([href, count, says, tone]) => html`<a class="tile" href="${href}"><b class="${count > 0 ? tone : ''}">${count}</b>${says}</a>`)}
  </div>`;
}

function sumOf(memberships: readonly StateCount[], ...states: string[]): number {
  return memberships.filter(({ state }) => states.includes(state)).reduce((total, { count }) => total + count, 0);
}

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

const customerColumns: Columns<Status['installs'][number]> = [
  ['install', ({ install }) => install, { to: ({ install }) => installPath(install) }],
  ['state', healthOf, { as: 'state' }],
  ['problem', ({ troubles }) => troubles.join('; '), { isBeneath: true }],
  ['last read', ({ readAt }) => readAt, { as: 'age' }],
];

function toTools(memberships: readonly StateCount[]) {
  return [...Map.groupBy(memberships, ({ tool }) => tool)].map(([tool, some]) => ({
    tool,
    active: sumOf(some, 'active'),
    pending: sumOf(some, 'pending', 'failed', 'invited'),
    held: sumOf(some, 'held'),
  }));
}

const toolColumns: Columns<ReturnType<typeof toTools>[number]> = [
  ['tool', ({ tool }) => tool, { to: ({ tool }) => `/access?${new URLSearchParams({ tool })}` }],
  ...numberColumns('active', 'pending', 'held'),
];

const timeColumns: Columns<Status['times'][number]> = [
  ['measure', ({ what }) => sayTimed(what)],
  ['last 24 h', ({ day }) => sayTimes(day), { align: 'right' }],
  ['last 30 days', ({ month }) => sayTimes(month), { align: 'right' }],
  ['people', ({ month }) => month.count, { align: 'right' }],
];
