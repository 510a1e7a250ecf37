import { z } from 'zod';
import { listBudgets, listUsedDays } from '../budget/budget-list-store.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { budgetStates } from '../domain/budget.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { accountOf } from '../hires/account.ts';
import { addDays } from '../lib/days.ts';
import { credits } from '../marketplace/contract/contracts.ts';
import { act, group, read } from './operation.ts';
import { page, pageBy, paging } from './paging.ts';
import { type Columns, sayPercent, table } from './show.ts';
import { formatList } from './text-table.ts';
import { sayWork, workPath } from './usage-values.ts';
import {
  contractKey,
  count,
  day,
  maybeInstant,
  maybeText,
  named,
  ofInstall,
  oneContract,
  theInstall,
} from './values.ts';

/** The budgets that work uses up. */

export const Budget = named('ContractBudget', {
  ...contractKey,
  title: maybeText,
  state: z.enum(budgetStates).nullable().describe('Null before the first reading.'),
  stateSince: maybeInstant,
  fundedVolume: z.number().nullable(),
  consumedVolume: z.number().nullable(),
  remainingVolume: z.number().nullable(),
  consumedFraction: z.number().nullable(),
  unit: z.enum(['seconds', 'labels']).nullable().describe('The unit in which work uses it up; null if no work does.'),
  lately: z.number().describe('What was reported for the days of the last week, in that unit.'),
  endsAt: maybeInstant.describe('When it will be used up at the present pace.'),
  waiting: count.describe('Days of trainers that the marketplace does not have as they are due, or that are held.'),
  askedAt: maybeInstant,
  nextReadAt: maybeInstant,
  failure: maybeText,
});

const columns: Columns<z.output<typeof Budget>> = [
  ['title', ({ title }) => title, { to: budgetPath }],
  ['contract', ({ contractId }) => contractId, { isBeneath: true }],
  ['install', ({ install }) => install],
  ['state', stateOf, { as: 'state' }],
  ['used', ({ consumedFraction }) => sayPercent(consumedFraction), { align: 'right' }],
  ['funded', ({ fundedVolume }) => toRounded(fundedVolume), { align: 'right' }],
  ['left', ({ remainingVolume }) => toRounded(remainingVolume), { align: 'right' }],
  ['in a week', ({ unit, lately }) => unit && sayWork(unit, lately)],
  ['used up', ({ endsAt }) => endsAt, { as: 'age' }],
  ['waiting', ({ waiting }) => waiting || '', { align: 'right', to: workPath }],
  ['problem', ({ failure }) => failure],
];

function budgetPath({ contractId, install }: ContractKey): string {
  return `/budgets/${encodeURIComponent(contractId)}?${new URLSearchParams({ install })}`;
}

/** The marketplace says "ok" if nothing is funded, whatever was used. */
function stateOf({ state, fundedVolume, consumedVolume }: z.output<typeof Budget>): string {
  if (fundedVolume === 0 && (consumedVolume ?? 0) > 0) return 'not_funded';
  return state ?? 'not_read';
}

/** The number of days of use that are shown with a budget. */
const usedDays = 60;

const ContractBudget = z.object({
  ...Budget.shape,
  days: z.array(z.object({ day, used: z.number() })).describe('What was reported of the last 60 days, latest first.'),
});

export type ContractBudget = z.output<typeof ContractBudget>;

export function budgetDayColumns(unit: ContractBudget['unit']): Columns<ContractBudget['days'][number]> {
  return [
    ['day', ({ day: of }) => of],
    ['reported', ({ used }) => sayWork(unit ?? 'seconds', used), { align: 'right' }],
  ];
}

export const operations = group('budgets', {
  list: read('GET /budgets', 'List the budgets of contracts as last read, and when each is used up', {
    in: z.strictObject({
      install: ofInstall,
      state: z.enum(budgetStates).optional().describe('Only those in one state.'),
      ...paging,
    }),
    out: page(Budget),
    run: ({ limit: most, cursor, ...filter }, ctx) =>
      pageBy('budgets', contractKey, { limit: most, cursor }, (after, limit) =>
        listBudgets(ctx, ctx.clock.now(), { ...filter, after, limit }),
      ),
    show: table(columns, 'No budgets match. A budget is read within a minute after its contract became active.'),
  }),
  'top-up': act(
    'POST /installs/{install}/top-ups',
    'Get a link at which a person tops up the credits of your own account',
    {
      asks: 'marketplace',
      isSecret: true,
      args: ['amount'],
      in: z.strictObject({
        install: theInstall,
        amount: z.number().min(10).max(10_000).describe('In US dollars, from 10 to 10,000.'),
      }),
      out: z.object({ topUp: z.object({ checkoutUrl: maybeText, expiresAt: maybeText, topUpId: z.string() }) }),
      async run({ install, amount: amountUsd }, ctx, { by, signal }) {
        await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'budgets top-up', install));
        const made = await accountOf(ctx, install).call(credits.topUp, { amountUsd }, signal);
        const { checkoutUrl = null, expiresAt, topUpId } = made;
        return { topUp: { checkoutUrl, expiresAt, topUpId } };
      },
      show: ({ topUp: { checkoutUrl, expiresAt } }) =>
        `A person pays at ${checkoutUrl ?? 'the marketplace'}${expiresAt === null ? '' : ` until ${expiresAt}`}. Nothing is charged before.`,
    },
  ),
  show: read('GET /contracts/{contract}/budget', 'Show the budget of a contract, and what was used of it each day', {
    in: z.strictObject(oneContract),
    out: ContractBudget,
    async run({ contract: contractId, install }, ctx) {
      const now = ctx.clock.now();
      const [budget, other] = await listBudgets(ctx, now, { install, contractId, limit: 2 });
      if (budget === undefined) throw new AppError('not_found', `There is no budget of a contract ${contractId}`);
      if (other !== undefined)
        throw new AppError('conflict', `Several installs have a contract ${contractId}: name one`);
      const first = addDays(now.toISOString().slice(0, 10), 1 - usedDays);
      const days = await listUsedDays(ctx, budget, budget.unit ?? 'seconds', first);
      return { ...budget, days };
    },
    show: ({ days, ...budget }) =>
      `${formatList([budget], columns, '')}\n\n${formatList(days, budgetDayColumns(budget.unit), 'Nothing was used in the last 60 days.')}`,
  }),
});

function toRounded(volume: number | null): number | null {
  return volume === null ? null : Number(volume.toFixed(2));
}
