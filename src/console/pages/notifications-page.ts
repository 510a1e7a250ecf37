import { html } from 'hono/html';
import { dispatchStates } from '../../domain/notice.ts';
import { maskText } from '../../lib/mask.ts';
import { type ListedDispatch, listDispatches } from '../../notify/dispatch-store.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { badgeOf, stateBadge } from '../view/badge.ts';
import { chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What was sent through which channel, what still waits, and what was given up, with the reason. */
export const notificationsViews: readonly View[] = [{ path: '/notifications', show: showNotifications }];

const pageSize = 50;

async function showNotifications(asked: Asked, ctx: OperationContext): Promise<Page> {
  const state = chosenOf(asked.query, 'state', dispatchStates);
  const before = toRowId(asked.query.get('before'));
  const found = await listDispatches(ctx, { state, before, limit: pageSize + 1 });
  const listed = found.slice(0, pageSize);
  const hasChannels = ctx.config.notifications.channels.size > 0;
  return {
    title: 'Alerts',
    body: html`
      ${filterForm(asked, [{ name: 'state', label: 'state', options: dispatchStates }])}
      ${tableOf('What was sent to people, or waits for it, the newest first', listed, columns, whenEmpty(hasChannels))}
      ${pager(asked, found.length > pageSize ? listed.at(-1)?.id : undefined)}
    `,
  };
}

function whenEmpty(hasChannels: boolean): string {
  return hasChannels
    ? 'Nothing of this kind was sent. An alert, or a budget that gets low, appears here.'
    : 'No channel is configured, so nothing is sent: add one under notifications.channels in the configuration.';
}

const columns: readonly Column<ListedDispatch>[] = [
  ['kind', ({ kind }) => kind],
  ['says', sayOf],
  ['about', aboutOf],
  ['channel', ({ channel }) => channel],
  ['state', stateOf],
  ['tries', ({ attempts }) => attempts, 'number'],
  ['added', ({ createdAt }) => instantOf(createdAt)],
  ['next try or end', ({ settledAt, nextAttemptAt }) => instantOf(settledAt ?? nextAttemptAt)],
  ['why', ({ failure }) => maskText(failure ?? '')],
];

function stateOf({ state }: ListedDispatch): Html | string {
  return state === 'failed' ? badgeOf('Given up', 'bad') : stateBadge(state);
}

function sayOf(one: ListedDispatch): Html | string {
  if ('about' in one && one.isOver) {
    return html`<span class="good">over</span>, raised ${instantOf(one.since)}`;
  }
  if (one.kind === 'budget.ok') return html`<span class="good">over</span>`;
  return one.isRepeat ? 'reminder' : 'raised';
}

function aboutOf(one: ListedDispatch): Html | string {
  if (!('about' in one)) return `contract ${one.contractId} of ${one.install}`;
  const ids = Object.entries(one.about).map(([what, id]) => `${what} ${id}`);
  return html`${maskText(one.message)}<br /><span class="quiet">${maskText(ids.join(', '))}</span>`;
}
