import { z } from 'zod';
import { count, day, instant, maybeInstant, maybeText, text } from './common-schema.ts';
import { contractParams } from './customer-schema.ts';

/** The work done in the tools, and what is reported of it. */

const counts = z
  .object({ seconds: z.number().nullable(), tasks: z.number().nullable(), labels: z.number().nullable() })
  .meta({ id: 'Counts', description: 'Null is not zero: a source does not have that count.' });

const contractKey = z.object({ install: z.string(), contractId: z.string() });

const workedOn = z
  .union([
    z.object({ by: z.literal('scope'), tool: z.string(), scope: z.string() }),
    z.object({ by: z.literal('project'), install: z.string(), externalProjectId: z.string() }),
    z.object({ by: z.literal('contract'), install: z.string(), contractId: z.string() }),
  ])
  .meta({ id: 'WorkedOn' });

const observation = z.object({
  source: z.string(),
  workedOn,
  trainerId: z.string(),
  day,
  counts,
  seenAt: instant,
});

const heldWork = z
  .object({ observation, reason: z.string(), contracts: z.array(contractKey) })
  .meta({ id: 'HeldWork', description: 'Work that is not reported before an operator decides.' });

export const heldAnswer = z.object({
  held: z.array(heldWork.extend({ id: z.string() }).meta({ id: 'ListedHeldWork' })),
  lowerings: z.array(
    z
      .object({
        install: z.string(),
        contractId: z.string(),
        trainerId: z.string(),
        day,
        state: z.enum(['held', 'reported']),
        since: instant,
        from: counts,
        to: counts.nullable(),
      })
      .meta({ id: 'Lowering' }),
  ),
});

export const contractUsageParams = contractParams;

export const contractUsageQuery = z.strictObject({
  install: text.optional().describe('Of which install, where several have one of this id.'),
});

const shownDay = z
  .object({
    trainerId: z.string(),
    day,
    seen: counts.nullable(),
    observations: z.array(observation.pick({ source: true, workedOn: true, counts: true, seenAt: true })),
    sent: counts.nullable(),
    difference: counts.nullable(),
    why: maybeText,
    state: maybeText,
    sentAt: maybeInstant,
    answeredAt: maybeInstant,
    status: z.int().nullable(),
    message: maybeText,
    requestId: maybeText,
    reportId: maybeText,
    doubtedUntil: maybeInstant,
    heldSince: maybeInstant,
    lowered: z.object({ at: instant, from: counts }).nullable(),
  })
  .meta({ id: 'UsageDay' });

export const contractUsageAnswer = z.object({
  install: z.string(),
  contractId: z.string(),
  days: z.array(shownDay),
  held: z.array(heldWork),
  reported: counts.describe('The sum of all days that were ever reported.'),
});

export const heldParams = z.strictObject({ work: z.string().regex(/^[0-9a-f]{12}$/, 'must be the id of held work') });

export const decideHeldBody = z.strictObject({
  contract: text.nullable().describe('Report it for this contract; null to never report it.'),
});

export const decidedHeldAnswer = z.object({ id: z.string(), contractId: maybeText });

export const reportBody = z.strictObject({
  install: text.optional(),
  contract: text.optional(),
  from: day.optional(),
  to: day.optional(),
  acceptLowered: z.boolean().optional().describe('Lower what was reported, however many days that concerns.'),
});

export const reportedAnswer = z.object({
  installs: z.array(
    z
      .object({
        install: z.string(),
        outcome: z.enum(['clean', 'applied', 'pending', 'held', 'failed']),
        sent: count,
        lowered: count,
        held: count,
        refused: count,
        left: count,
        requests: count,
        failure: maybeText,
      })
      .meta({ id: 'UsageReport' }),
  ),
  unread: z
    .array(z.object({ tool: z.string(), scope: z.string(), failure: maybeText }))
    .describe('Work that could not be read.'),
});
