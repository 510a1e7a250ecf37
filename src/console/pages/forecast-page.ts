import { html } from 'hono/html';
import { maskText } from '../../lib/mask.ts';
import { type BudgetEnd, forecast, type Leaving } from '../../operator/forecast.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { Asked, Page, View } from '../page.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { waitingColumns } from './invitations-page.ts';

/** What is to happen in the next days if nothing else is heard. */
export const forecastViews: readonly View<ConsoleParts>[] = [{ path: '/forecast', show: showForecast }];

const mostListed = 500;

async function showForecast({ query }: Asked, { database, config, clock }: ConsoleParts): Promise<Page> {
  const days = query.get('days') === '30' ? 30 : 7;
  const { managedDomains } = config.marketplace;
  const wish = { now: clock.now(), days, limit: mostListed, managedDomains, hasMail: config.mail !== undefined };
  const { until, leaving, budgets, waiting } = await forecast(database, wish);
  return {
    title: `The next ${days} days`,
    body: html`
      <p class="pager"><a href="/forecast?days=7">7 days</a> <a href="/forecast?days=30">30 days</a></p>
      <p>Until ${instantOf(until)}, if nothing else is heard. Each list has at most ${mostListed} rows.</p>
      <h2>Who is to leave</h2>
      ${tableOf('Trainers who are to lose their access', leaving, leavingColumns, noLeaving)}
      <h2>Budgets that run out</h2>
      ${tableOf('Budgets that are used up by then, at the pace of the last week', budgets, budgetColumns, noBudgets)}
      <h2>Who waits</h2>
      ${tableOf('Trainers who are not in yet, and what they wait for', waiting, waitingColumns, noWaiting)}
    `,
  };
}

const noLeaving = 'No trainer is to leave. One appears when a contract or a link ends.';
const noBudgets =
  'No budget runs out at the pace of the last week. Budgets appear once they were read and work was reported.';
const noWaiting = 'No trainer waits. One appears while their work email or their invitation is missing.';

const leavingColumns: readonly Column<Leaving>[] = [
  ['leaves', ({ at }) => instantOf(at) || 'when the plan is approved'],
  ['name', ({ displayName, trainerId }) => (displayName === null ? trainerId : maskText(displayName))],
  ['trainer', ({ trainerId }) => trainerId],
  ['tool', ({ tool }) => tool],
  ['project', ({ groupId }) => maskText(groupId)],
  ['install', ({ install }) => install],
  ['because', ({ why }) => why],
];

const budgetColumns: readonly Column<BudgetEnd>[] = [
  ['used up', ({ at }) => instantOf(at)],
  ['contract', ({ contractId }) => contractId],
  ['title', ({ title }) => (title === null ? '' : maskText(title))],
  ['install', ({ install }) => install],
  ['used now', ({ consumedFraction }) => toPercent(consumedFraction), 'number'],
];

/** Only a budget that is used up completely is 100 %. */
function toPercent(fraction: number | null): string {
  return fraction === null ? '' : `${Math.floor(fraction * 100 + 1e-6)} %`;
}
