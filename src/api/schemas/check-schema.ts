import { z } from 'zod';
import { count, day, flag, maybeText, text } from './common-schema.ts';
import { counts, dayKey } from './usage-schema.ts';

/** What the sources have, what is due and what the marketplace answered. */

export const checkQuery = z.strictObject({
  install: text.optional(),
  contract: text.optional(),
  from: day.optional(),
  to: day.optional(),
  all: flag.optional().describe('List days too on which nothing differs.'),
});

const checkedCounts = {
  seen: counts.describe('What the tools and imports have.'),
  due: counts.describe('Without what is held or discarded.'),
  answered: counts.describe('What the marketplace answered.'),
};

export const checkAnswer = z.object({
  sums: z.array(
    z
      .object({
        install: z.string().describe('Empty for held work that may be of no contract that is known.'),
        days: count.describe('Days of trainers on contracts.'),
        differing: count.describe('Days with something unpaid, or paid without a source.'),
        ...checkedCounts,
        held: counts,
        usd: z.number().describe('What is not paid, of contracts whose rate is known; negative for what is overpaid.'),
      })
      .meta({ id: 'CheckSum' }),
  ),
  days: z
    .array(
      z
        .object({
          ...dayKey,
          contractId: z.string().describe('Empty where the work may be of several, or of none.'),
          id: z.string().describe('Of held work, or of the day.'),
          ...checkedCounts,
          difference: counts,
          usd: z.number().nullable(),
          why: maybeText,
          reason: maybeText.describe('Why work is held.'),
        })
        .meta({ id: 'CheckedDay' }),
    )
    .describe('The latest first, 5,000 at most.'),
  left: count.describe('Days beyond those listed.'),
});

export const recountAnswer = z.object({
  trainers: count.describe('For whom something else was stored as due. It was mended.'),
  days: count,
});
