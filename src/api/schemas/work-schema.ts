import { z } from 'zod';
import { budgetStates } from '../../domain/budget.ts';
import { count, day, maybeInstant, maybeText, pageSchema, paging, text } from './common-schema.ts';
import { contractParams } from './customer-schema.ts';
import { counts, heldFacts } from './usage-schema.ts';

/** Work by day, and the budgets that it uses up. */

export const workDaysQuery = z.strictObject({
  install: text.optional().describe('Only its work.'),
  from: day.optional().describe('29 days before `to` without it; a year at most.'),
  to: day.optional().describe('Today without it.'),
});

export const workDaysAnswer = z.object({
  comparedAt: maybeInstant.describe(
    'When the tools were last compared with the marketplace; null before the first time.',
  ),
  left: count.describe('Differences beyond what is kept.'),
  days: z.array(
    z
      .object({
        day,
        seen: counts.describe('What the tools counted.'),
        sent: counts.describe('What the marketplace has.'),
        differing: count.describe('Days of trainers of which the marketplace has something else.'),
        held: count.describe('Pieces of work that wait for an operator.'),
      })
      .meta({ id: 'ComparedDay' }),
  ),
});

export const differencesQuery = z.strictObject({
  ...paging,
  install: text.optional(),
  day: day.optional().describe('Only of this day.'),
});

export const differencePage = pageSchema(
  z
    .object({
      id: z.int(),
      install: z.string(),
      contractId: z.string(),
      trainerId: z.string(),
      displayName: maybeText,
      day,
      why: z.string(),
      seen: counts.nullable(),
      sent: counts.nullable(),
      held: heldFacts.nullable(),
      heldId: maybeText.describe('To decide about it: `POST /usage/held/{work}`.'),
    })
    .meta({ id: 'Difference' }),
);

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
  waiting: count.describe('Days of trainers that the marketplace does not have as they were read.'),
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
