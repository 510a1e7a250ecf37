import { html } from 'hono/html';
import type { ListedBudget } from '../../budget/budget-list-store.ts';
import { type EndingBudget, listEndingBudgets, listUsedDays, type UsedDay } from '../../budget/ending-budgets.ts';
import { budgetStates } from '../../domain/budget.ts';
import { paceDays } from '../../domain/budget-pace.ts';
import { AppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import type { Counts } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import { maskText } from '../../lib/mask.ts';
import { sayCount } from '../../lib/say-count.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { sayPercent } from '../../operations/show.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { badgeOf, stateBadge } from '../view/badge.ts';
import { chartOf } from '../view/chart.ts';
import { describeCharted, describeCount, toCharted } from '../view/counts.ts';
import { chosen, chosenOf, filterForm, pager, sayContractKey, toContractKey } from '../view/filter.ts';
import { dayOf, instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { workOf } from './work-page.ts';

/** What each contract was funded with, how much is used, and when it is used up if the work goes on like this. */
export const budgetViews: readonly View[] = [
  { path: '/budgets', show: showBudgets },
  { path: '/budgets/:id', show: showBudget },
];

const pageSize = 100;
/** So many days a chart has. */
const chartDays = 60;

async function showBudgets(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { query } = asked;
  const found = await listEndingBudgets(ctx, ctx.clock.now(), {
    install: chosen(query, 'install'),
    state: chosenOf(query, 'state', budgetStates),
    after: toContractKey(query.get('after')),
    limit: pageSize + 1,
  });
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  return {
    title: 'Budgets',
    body: html`
      ${filterForm(asked, [
        { name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() },
        { name: 'state', label: 'state', options: budgetStates },
      ])}
      ${tableOf('Contracts and their budgets, as last read', shown, columns, noBudgets)}
      ${pager(asked, last && sayContractKey(last), 'after')}
    `,
  };
}

const noBudgets =
  'No such budget. One appears once a contract is active and its project is linked: it is read within a minute.';

const columns: readonly Column<EndingBudget>[] = [
  ['contract', (one) => html`<a href="${pathOf(one)}">${nameOf(one)}</a>`],
  ['install', ({ install }) => install],
  ['state', stateOf],
  ['used', ({ consumedFraction }) => sayPercent(consumedFraction), 'number'],
  ['funded', ({ fundedVolume }) => round(fundedVolume), 'number'],
  ['left', ({ remainingVolume }) => round(remainingVolume), 'number'],
  ['worked in a week', workedOf],
  ['used up', ({ endsAt }) => instantOf(endsAt)],
  [
    'work that waits',
    (one) => (one.waiting === 0 ? '' : html`<a class="warn" href="${differingOf(one)}">${one.waiting}</a>`),
    'number',
  ],
];

function nameOf({ title, contractId }: Pick<ListedBudget, 'title' | 'contractId'>): string {
  return title === null ? contractId : maskText(title);
}

function pathOf({ install, contractId }: ContractKey): string {
  return `/budgets/${encodeURIComponent(contractId)}?${new URLSearchParams({ install })}`;
}

function differingOf(of: ContractKey): string {
  return `${workOf(of)}&differs=yes`;
}

/** The marketplace says "ok" where nothing is funded, whatever was used. */
function stateOf({ state, fundedVolume, consumedVolume }: EndingBudget): Html | string {
  if (fundedVolume === 0 && (consumedVolume ?? 0) > 0) return badgeOf('Not funded', 'bad');
  return state === null ? 'not read yet' : stateBadge(state);
}

/** To a hundredth, as sums of fractions have many digits. */
function round(volume: number | null): number | null {
  return volume === null ? null : Math.round(volume * 100) / 100;
}

function workedOf({ unit, pace }: ListedBudget): string {
  return unit === undefined ? 'work does not use it up' : describeCount(unit, pace.lately);
}

async function showBudget(asked: Asked, ctx: OperationContext): Promise<Page> {
  const contractId = asked.params['id'] ?? '';
  const isId = contractId.length <= 500 && !/\p{Cc}/u.test(contractId) && contractId.isWellFormed();
  const install = chosen(asked.query, 'install');
  const found = isId ? await listEndingBudgets(ctx, ctx.clock.now(), { install, contractId, limit: pageSize }) : [];
  const [budget, other] = found;
  if (budget === undefined) throw new AppError('not_found', 'No budget of such a contract is known');
  if (other !== undefined) {
    const body = tableOf('Several installs have a contract of this id', found, columns, '');
    return { title: `Budgets of ${contractId}`, body };
  }
  return {
    title: maskText(`Budget of “${nameOf(budget)}”`),
    body: html`
      ${factsOf(budget)}
      ${await usedByDay(ctx, budget)}
    `,
  };
}

function factsOf(budget: EndingBudget): Html {
  const { install, contractId, stateSince, consumedFraction, fundedVolume, consumedVolume } = budget;
  const { remainingVolume, endsAt, askedAt, nextReadAt, failure, waiting } = budget;
  return html`<dl class="sheet">
    <dt>Contract</dt>
    <dd><a href="/contracts/${encodeURIComponent(contractId)}">${contractId}</a> of ${install}</dd>
    <dt>State</dt>
    <dd>${stateOf(budget)}${stateSince !== null && html`, since ${instantOf(stateSince)}`}</dd>
    <dt>Used</dt>
    <dd>${sayPercent(consumedFraction) || 'not known'}: ${round(consumedVolume) ?? '?'} of ${round(fundedVolume) ?? '?'}, left ${round(remainingVolume) ?? '?'}</dd>
    <dt>Worked in the last ${paceDays} days</dt>
    <dd>${workedOf(budget)}</dd>
    <dt>Used up at this pace</dt>
    <dd>${instantOf(endsAt) || 'not within reach'}</dd>
    <dt>Work that waits</dt>
    <dd>${waiting === 0 ? 'none' : html`<a href="${differingOf(budget)}">${sayCount(waiting, 'day')} of trainers that the marketplace does not have as they are due, or that are held</a>`}</dd>
    <dt>Last read</dt>
    <dd>${instantOf(askedAt) || 'not yet'}${failure !== null && html`: <span class="bad">${maskText(failure)}</span>`}</dd>
    <dt>Next reading</dt>
    <dd>${instantOf(nextReadAt) || 'none, as the contract is not active'}</dd>
  </dl>`;
}

/** What was reported of each day, in the unit that is paid by. */
async function usedByDay(ctx: OperationContext, budget: EndingBudget) {
  const { install, contractId, unit } = budget;
  const to = ctx.clock.now().toISOString().slice(0, 10);
  const from = addDays(to, 1 - chartDays);
  const used = unit ?? 'seconds';
  const days = await listUsedDays(ctx, budget, used, from);
  const chart = chartOf({
    title: `${used} that were reported from ${from} to ${to}, by day: the table beneath has the numbers`,
    from,
    to,
    days: days.map((one) => ({ day: one.day, bar: toCharted(used, one.used) })),
    legend: 'reported',
    say: describeCharted(used),
  });
  return html`<h2>What was used by day</h2>
    ${days.length > 0 && chart}
    ${tableOf(`What was reported of the last ${chartDays} days, the latest first`, days, usedColumns(used), noUse)}
    <p><a href="${workOf({ install, contractId })}">The work, as it is due and as it was reported</a></p>`;
}

const noUse = 'Nothing was reported of these days. A day appears after its work was read and reported.';

function usedColumns(unit: keyof Counts): readonly Column<UsedDay>[] {
  return [
    ['day', ({ day }) => dayOf(day)],
    ['reported', ({ used }) => describeCount(unit, used), 'number'],
  ];
}
