import { z } from 'zod';
import { membershipStates } from '../../domain/membership.ts';
import { count, instant, maybeInstant, maybeText, paging, text } from './common-schema.ts';

/** What differs between what the tools list and the memberships that are known. */

export const driftQuery = z.strictObject({
  tool: text.optional(),
  group: text.optional(),
  limit: paging.limit,
});

const kind = z.enum(['missing', 'id_changed', 'found_again', 'address_changed', 'stranger', 'leak']);

const group = z
  .object({
    tool: z.string(),
    groupId: z.string(),
    install: z.string().describe('By whose reading it was listed.'),
    listedAt: instant,
    listed: count,
    unkept: count.describe('How many more differ, and are not named.'),
    counts: z.partialRecord(kind, count),
  })
  .meta({ id: 'GroupDrift' });

const finding = z
  .object({
    id: z.string(),
    kind,
    tool: z.string(),
    groupId: z.string(),
    install: z.string(),
    since: instant,
    listedAt: instant,
    membershipId: z.int().nullable(),
    member: z
      .object({
        trainerId: z.string(),
        displayName: maybeText,
        state: z.enum(membershipStates),
        wanted: z.boolean(),
        removeAfter: maybeInstant,
      })
      .nullable(),
    account: z
      .object({ id: z.string(), email: maybeText, name: maybeText })
      .nullable()
      .describe('What the tool shows of an account without a membership.'),
    next: z.string().describe('What happens by itself, or what is left to an operator.'),
  })
  .meta({ id: 'DriftFinding' });

export const driftAnswer = z.object({ groups: z.array(group), found: z.array(finding) });
