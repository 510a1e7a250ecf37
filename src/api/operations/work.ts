import { type EndingBudget, listEndingBudgets, listUsedDays } from '../../budget/ending-budgets.ts';
import { AppError } from '../../domain/errors.ts';
import { addDays } from '../../lib/add-days.ts';
import { lastComparison, listComparedDays, listDifferences } from '../../usage/compare/comparison-store.ts';
import { pageById, pageByKey } from '../cursor.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  budgetAnswer,
  budgetPage,
  budgetParams,
  budgetQuery,
  budgetsQuery,
  differencePage,
  differencesQuery,
  workDaysAnswer,
  workDaysQuery,
} from '../schemas/work-schema.ts';

/** Work by day, and the budgets that it uses up. */

const tag = 'work';
const usualDays = 30;
const mostDays = 366;
/** So many days of use a budget is shown with. */
const usedDays = 60;

const listWorkDays = defineOperation({
  id: 'listWorkDays',
  method: 'get',
  path: '/work/days',
  summary: 'The work of all trainers by day, as the tools counted it and as the marketplace has it',
  tag,
  query: workDaysQuery,
  answer: workDaysAnswer,
  async run({ query: { install, from: first, to: last } }, ctx) {
    const to = last ?? ctx.clock.now().toISOString().slice(0, 10);
    const from = first ?? addDays(to, 1 - usualDays);
    if (from > to) throw new AppError('invalid', '`from` must not be after `to`');
    if (addDays(from, mostDays) <= to) throw new AppError('invalid', 'From `from` to `to` is more than a year');
    const { at: comparedAt = null, left = 0 } = (await lastComparison(ctx)) ?? {};
    return { comparedAt, left, days: await listComparedDays(ctx, { install, from, to }) };
  },
});

const listAllDifferences = defineOperation({
  id: 'listDifferences',
  method: 'get',
  path: '/work/differences',
  summary: 'Days of which the marketplace has something else than the tools counted, and held work, with the reason',
  tag,
  query: differencesQuery,
  answer: differencePage,
  run: ({ query: { install, day, ...wish } }, ctx) =>
    pageById('listDifferences', wish, (before, limit) => listDifferences(ctx, { install, day, before, limit })),
});

const listBudgets = defineOperation({
  id: 'listBudgets',
  method: 'get',
  path: '/budgets',
  summary: 'Contracts and their budgets, as last read, and when each is used up',
  tag,
  query: budgetsQuery,
  answer: budgetPage,
  run: ({ query: { install, state, ...wish } }, ctx) =>
    pageByKey(
      'listBudgets',
      { ...wish, parts: 2 },
      async (key, limit) => {
        const [lastInstall, lastContract] = key ?? [];
        const after =
          lastInstall === undefined || lastContract === undefined
            ? undefined
            : { install: lastInstall, contractId: lastContract };
        const found = await listEndingBudgets(ctx.database, ctx.clock.now(), { install, state, after, limit });
        return found.map(toBudget);
      },
      (one) => [one.install, one.contractId],
    ),
});

const getBudget = defineOperation({
  id: 'getBudget',
  method: 'get',
  path: '/contracts/{contract}/budget',
  summary: 'The budget of a contract, and what was used of it by day',
  tag,
  params: budgetParams,
  query: budgetQuery,
  answer: budgetAnswer,
  async run({ params: { contract: contractId }, query: { install } }, ctx) {
    const now = ctx.clock.now();
    const [budget, other] = await listEndingBudgets(ctx.database, now, { install, contractId, limit: 2 });
    if (budget === undefined) throw new AppError('not_found', `No budget of a contract ${contractId} is known`);
    if (other !== undefined) throw new AppError('conflict', `Several installs have a contract ${contractId}: name one`);
    const first = addDays(now.toISOString().slice(0, 10), 1 - usedDays);
    const days = await listUsedDays(ctx, budget, budget.unit ?? 'seconds', first);
    return { ...toBudget(budget), days };
  },
});

function toBudget({ unit, pace, ...budget }: EndingBudget) {
  return { ...budget, unit: unit ?? null, lately: pace.lately };
}

export const workOperations = [listWorkDays, listAllDifferences, listBudgets, getBudget];
