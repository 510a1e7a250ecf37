import { z } from 'zod';
import { budgetStates } from '../../domain/budget.ts';
import { deliveryStates } from '../../domain/delivery.ts';
import { membershipStates } from '../../domain/membership.ts';
import { count, instant, maybeInstant, maybeText } from './common-schema.ts';
import { trouble } from './membership-schema.ts';
import { plan } from './plan-schema.ts';

/** How Gangway is doing. */

export const statusQuery = z.strictObject({
  since: z
    .string()
    .regex(/^[1-9]\d{0,3}(m|h|d)$/, 'must be a duration such as 24h')
    .optional()
    .describe('How far back to count, such as 24h; 24h without it.'),
});

const instance = z
  .object({
    name: z.string(),
    version: z.string(),
    startedAt: instant,
    beatAt: instant,
    stoppedAt: maybeInstant,
    state: z.enum(['running', 'silent', 'stopped']),
    silentForSeconds: z.number(),
  })
  .meta({ id: 'Instance' });

const installState = z
  .object({
    install: z.string(),
    heldSince: maybeInstant,
    readWantedAt: maybeInstant,
    readBeganAt: maybeInstant,
    attempts: count,
    failure: maybeText,
  })
  .meta({ id: 'InstallState' });

export const statusAnswer = z.object({
  since: instant,
  memberships: z.array(z.object({ tool: z.string(), state: z.enum(membershipStates), count })),
  deliveries: z.array(z.object({ install: z.string(), state: z.enum(deliveryStates), count })),
  receipts: z.array(z.object({ tool: z.string(), outcome: z.string(), count })),
  removals: z.array(z.object({ install: z.string(), clearance: z.string(), count })),
  installs: z.array(installState),
  plans: z.array(plan),
  budgets: z.array(z.object({ install: z.string(), state: z.enum(budgetStates).nullable(), count })),
  lowered: z.array(z.object({ install: z.string(), days: count })),
  troubles: z.array(trouble).describe('What needs an operator, the worst first.'),
  instances: z.array(instance),
});
