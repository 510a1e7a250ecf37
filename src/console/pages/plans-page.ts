import { html } from 'hono/html';
import { planStates } from '../../domain/brake.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { type Plan, pagePlans } from '../../removals/plan-store.ts';
import type { Asked, Page, View } from '../page.ts';
import { stateBadge } from '../view/badge.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** The removals that the brake holds, as plans. */
export const plansViews: readonly View[] = [{ path: '/plans', show: showPlans }];

const perPage = 100;

async function showPlans(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { query } = asked;
  const filter = { state: chosenOf(query, 'state', planStates), install: chosen(query, 'install') };
  const before = toRowId(query.get('before'));
  const found = await pagePlans(ctx, { ...filter, before, limit: perPage + 1 });
  const plans = found.slice(0, perPage);
  return {
    title: 'Removals on hold',
    body: html`
      ${filterForm(asked, [
        { name: 'state', label: 'state', options: planStates },
        { name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() },
      ])}
      ${tableOf('Removals that the brake held, the newest first', plans, planColumns, noPlans)}
      ${pager(asked, found.length > perPage ? plans.at(-1)?.id : undefined)}
    `,
  };
}

const noPlans = 'No removals are on hold. A plan appears here when more people are due to leave than the limit allows.';

const planColumns: readonly Column<Plan>[] = [
  ['plan', ({ id }) => html`<a href="/plans/${id}">Plan ${id}</a>`],
  ['install', ({ install }) => install],
  ['state', ({ state }) => stateBadge(state)],
  ['people', ({ size }) => size, 'number'],
  ['age', ({ createdAt }) => instantOf(createdAt)],
  ['decided', ({ decidedAt }) => instantOf(decidedAt)],
];
