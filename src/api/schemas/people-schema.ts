import { z } from 'zod';
import { count, text } from './common-schema.ts';

/** What clears people away: retiring and forgetting. */

const orphan = z
  .object({
    id: z.int(),
    install: z.string(),
    tool: z.string(),
    groupId: z.string(),
    trainerId: z.string(),
    wantedBy: z.int().nullable().describe('Another membership that wants them in the same group.'),
  })
  .meta({ id: 'OrphanedMembership' });

export const orphansQuery = z.strictObject({ install: text.optional(), tool: text.optional() });

export const orphansAnswer = z.object({ orphans: z.array(orphan) });

export const retireBody = z.union([
  z.strictObject({ install: text, tool: text.optional() }),
  z.strictObject({ tool: text }),
  z.strictObject({ all: z.literal(true) }),
]);

export const retiredAnswer = z.object({
  orphans: z.array(orphan),
  retired: z.object({
    removing: count.describe('How many will be removed from their tool.'),
    released: count.describe('How many are kept, because their tool is not configured.'),
    kept: count.describe('How many stay orphaned, because another membership wants them in the same group.'),
  }),
});

export const forgetBody = z.strictObject({
  person: text.describe('A trainer id, or a work address.'),
  install: text.optional().describe('Only what this install knows of them.'),
  dryRun: z.boolean().describe('Whether to say only what would be cleared. What is cleared cannot be brought back.'),
});

export const forgottenAnswer = z.object({
  trainerId: z.string(),
  installs: z.array(z.string()),
  neededBy: z.array(z.object({ install: z.string(), why: z.string() })),
  people: count,
  titles: count,
  deliveries: count,
  toolTraces: count,
  deliveriesLeft: count,
  dryRun: z.boolean(),
});
