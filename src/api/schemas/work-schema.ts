import { z } from 'zod';
import { budgetStates } from '../../domain/budget.ts';
import { count, day, maybeInstant, maybeText, pageSchema, paging, text } from './common-schema.ts';
import { contractParams } from './customer-schema.ts';

/** The budgets that work uses up. */

export const budgetsQuery = z.strictObject({
  ...paging,
  install: text.optional(),
  state: z.enum(budgetStates).optional(),
});

const budget = {
  install: z.string(),
  contractId: z.string(),
  title: maybeText,
  state: z.enum(budgetStates).nullable().describe('Null before the first reading.'),
  stateSince: maybeInstant,
  fundedVolume: z.number().nullable(),
  consumedVolume: z.number().nullable(),
  remainingVolume: z.number().nullable(),
  consumedFraction: z.number().nullable(),
  unit: z.enum(['seconds', 'labels']).nullable().describe('What uses it up; null where no work does.'),
  lately: z.number().describe('What was reported for the days of the last week, in that unit.'),
  endsAt: maybeInstant.describe('When it is used up, if the work goes on like this.'),
  waiting: count.describe('Days of trainers that the marketplace does not have as they are due, or that are held.'),
  askedAt: maybeInstant,
  nextReadAt: maybeInstant,
  failure: maybeText,
};

export const budgetPage = pageSchema(z.object(budget).meta({ id: 'ContractBudget' }));

export const budgetParams = contractParams;

export const budgetQuery = z.strictObject({
  install: text.optional().describe('Of which install, where several have one of this id.'),
});

export const budgetAnswer = z.object({
  ...budget,
  days: z
    .array(z.object({ day, used: z.number() }))
    .describe('What was reported of the last 60 days, the latest first.'),
});
