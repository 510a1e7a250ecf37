import { type EndingBudget, listEndingBudgets, listUsedDays } from '../../budget/ending-budgets.ts';
import { AppError } from '../../domain/errors.ts';
import { addDays } from '../../lib/add-days.ts';
import { pageByKey } from '../../operations/cursor.ts';
import { defineOperation } from '../operation-schema.ts';
import { budgetAnswer, budgetPage, budgetParams, budgetQuery, budgetsQuery } from '../schemas/work-schema.ts';

/** The budgets that work uses up. */

const tag = 'work';
/** So many days of use a budget is shown with. */
const usedDays = 60;

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
        const found = await listEndingBudgets(ctx, ctx.clock.now(), { install, state, after, limit });
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
    const [budget, other] = await listEndingBudgets(ctx, now, { install, contractId, limit: 2 });
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

export const workOperations = [listBudgets, getBudget];
