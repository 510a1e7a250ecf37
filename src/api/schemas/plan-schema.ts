import { z } from 'zod';
import { planStates } from '../../domain/brake.ts';
import { membershipStates } from '../../domain/membership.ts';
import {
  count,
  instant,
  maybeInstant,
  maybeText,
  pageSchema,
  paging,
  rowNumber,
  rowNumberInBody,
  text,
} from './common-schema.ts';

/** The removals that the brake holds. */

export const planParams = z.strictObject({ plan: rowNumber });

export const plan = z
  .object({
    id: z.int(),
    install: z.string(),
    state: z.enum(planStates),
    createdAt: instant,
    decidedAt: maybeInstant,
    size: count.describe('How many people it has.'),
  })
  .meta({ id: 'Plan' });

export const planQuery = z.strictObject({
  ...paging,
  install: text.optional(),
  state: z.enum(planStates).optional(),
});

export const planPage = pageSchema(plan);

const planItem = z
  .object({
    membershipId: z.int(),
    tool: z.string(),
    groupId: z.string(),
    trainerId: z.string(),
    displayName: maybeText,
    cause: z.string(),
    because: z.string().describe('The cause in words.'),
    outcome: maybeText,
    contractIds: z.array(z.string()),
    isStale: z.boolean().describe('Whether something else is known by now.'),
    current: z.object({ state: z.enum(membershipStates), wanted: z.boolean(), cause: maybeText }),
  })
  .meta({ id: 'PlanItem' });

export const planAnswer = plan.extend({ items: z.array(planItem) }).meta({ id: 'PlanInFull' });

const only = z
  .array(rowNumberInBody)
  .min(1)
  .max(10_000)
  .optional()
  .describe('Only these memberships of it; the rest stays in the open plan. Without it, all.');

export const approveBody = z.strictObject({
  only,
  withoutReading: z.boolean().optional().describe('Do not ask the marketplace first, for when it cannot be asked.'),
});

export const rejectBody = z.strictObject({ only });

const decided = {
  plan: z.int(),
  install: z.string(),
  decided: count,
  stale: count,
  open: count.describe('How many still wait in the plan for a decision.'),
};

export const rejectedAnswer = z.object(decided);

const approved = z.object({
  install: decided.install,
  decided: count,
  stale: count,
  open: decided.open,
  isRead: z.boolean().describe('Whether the marketplace was asked before.'),
  dropped: z
    .array(
      z.object({
        membershipId: z.int(),
        tool: z.string(),
        groupId: z.string(),
        trainerId: z.string(),
        displayName: maybeText,
        why: z.string(),
      }),
    )
    .describe('Who stays for now, because something else is known of them than when the plan was made.'),
  removed: count,
  failed: count,
  left: count.describe('How many are still to be removed by the workers.'),
});

export const approvalParams = z.strictObject({ plan: rowNumber, approval: text });

export const approvalAnswer = z.object({
  plan: z.int(),
  approval: z.string().describe('What `getApproval` finds it by, at the instance that was asked.'),
  result: approved.nullable().describe('Null while the marketplace is being read: ask `getApproval` then.'),
});
