import { z } from 'zod';
import { membershipStates } from '../../domain/membership.ts';
import { severities } from '../../lib/trouble-rules.ts';
import { troubleKinds } from '../../lib/troubles.ts';
import { flag, instant, maybeInstant, maybeText, pageSchema, paging, rowNumber, text } from './common-schema.ts';

/** Who is in which group of a tool, why, and what happened. */

export const membershipParams = z.strictObject({ membership: rowNumber });

const trainer = {
  id: z.int(),
  tool: z.string(),
  groupId: z.string(),
  trainerId: z.string(),
  displayName: maybeText,
  install: z.string(),
  state: z.enum(membershipStates),
  wanted: z.boolean(),
  cause: maybeText.describe('Why they are to leave.'),
  failure: maybeText,
  doubtedId: maybeText.describe('An account of which it is not known whether it is theirs.'),
  updatedAt: instant.describe('Since when it is in this state.'),
  removeAfter: maybeInstant,
};

const membership = z
  .object({ ...trainer, memberId: maybeText, attempts: z.int(), nextAttemptAt: maybeInstant })
  .meta({ id: 'Membership' });

export const membershipQuery = z.strictObject({
  ...paging,
  tool: text.optional(),
  install: text.optional(),
  state: z.enum(membershipStates).optional(),
  undecided: flag
    .optional()
    .describe('Only members whom Gangway did not add, while it is not decided whether they stay.'),
  leaving: flag.optional().describe('Only members whose access is due to end, the soonest first.'),
});

export const membershipPage = pageSchema(membership);

const waitingMember = membership
  .extend({
    waitsFor: z.enum(['work_email', 'mail', 'operator', 'new_invitation', 'renewal']),
    invitation: z
      .object({ kind: z.enum(['link', 'password']), expiresAt: maybeInstant, failure: maybeText })
      .nullable()
      .describe('Without what is in it: `takeInvitation` shows that once.'),
  })
  .meta({ id: 'WaitingMember' });

export const waitingQuery = z.strictObject({ limit: paging.limit, tool: text.optional() });
export const waitingList = z.object({ items: z.array(waitingMember) });

const reason = z
  .object({
    install: z.string(),
    contractId: z.string(),
    linkId: z.string(),
    title: maybeText,
    endDate: maybeText,
    externalProjectId: maybeText,
    externalProjectName: maybeText,
  })
  .meta({ id: 'Reason' });

const access = z
  .object({ ...trainer, reasons: z.array(reason).describe('Recorded reasons, whether they stand or not.') })
  .meta({ id: 'Access' });

export const accessQuery = z.strictObject({
  ...paging,
  q: text.optional().describe('Part of a name or of a project, a whole id, or a work address.'),
  state: z.enum(membershipStates).optional(),
  install: text.optional(),
  tool: text.optional(),
  project: text.optional().describe('The id of the project, or of the group in the tool.'),
  trainer: text.optional(),
  contract: text.optional().describe('A contract that is, or was, a reason.'),
});

export const accessPage = pageSchema(access);

export const historyQuery = z.strictObject({
  ...paging,
  from: instant.optional().describe('The begin of the period.'),
  to: instant.optional().describe('Its end; now without it.'),
  install: text.optional().describe('Only access by contracts of this install.'),
});

export const historyPage = pageSchema(
  z
    .object({
      membershipId: z.int(),
      number: z.int().describe('Counts the stretches of a membership, from 1.'),
      tool: z.string(),
      groupId: z.string(),
      trainerId: z.string(),
      from: maybeInstant.describe('When Gangway first saw that they could get in; null if no receipt says so.'),
      mayBeFrom: maybeInstant.describe('When a call without a clear answer may already have let them in.'),
      until: maybeInstant.describe('When Gangway saw that they no longer could; null while they can.'),
      isAdded: z.boolean().describe('Whether Gangway added them. Otherwise they were in before.'),
      contracts: z.array(z.object({ install: z.string(), contractId: z.string() })),
      cause: maybeText.describe('Why they were removed.'),
      lockOutMs: z.number().nullable().describe('Milliseconds from when they were to be out until they were.'),
      doubts: z.array(z.string()).describe('What is not known.'),
    })
    .meta({ id: 'AccessStretch', description: 'A time in which a trainer could get into a group of a tool.' }),
);

const explanation = z
  .object({
    trainerId: maybeText,
    displayName: maybeText,
    install: z.string(),
    contractId: z.string(),
    steps: z.array(
      z.object({
        step: z.enum(['install', 'contract', 'person', 'link', 'address', 'membership']),
        holds: z.boolean(),
        says: z.string(),
      }),
    ),
    action: z.string().describe('The one thing to do, even if it is to wait or to do nothing.'),
  })
  .meta({ id: 'Explanation' });

const timelineStep = z
  .object({
    at: z.string(),
    kind: z.enum(['delivery', 'act', 'evidence', 'wanted', 'look', 'call', 'receipt']),
    says: z.string(),
    deliveryId: z.int().optional(),
    membershipId: z.int().optional(),
    actId: z.int().optional(),
  })
  .meta({ id: 'TimelineStep' });

const timeline = z
  .object({
    steps: z.array(timelineStep).describe('The oldest first.'),
    isCutOff: z.boolean().describe('Whether there are older steps that are not among them.'),
  })
  .meta({ id: 'Timeline' });

export const membershipAnswer = access
  .extend({
    nextAttemptAt: maybeInstant,
    canConverge: z.boolean().describe('Whether there is a call to make now.'),
    explanations: z.array(explanation),
    timeline,
  })
  .meta({ id: 'MembershipInFull' });

const budget = z
  .object({
    install: z.string(),
    contractId: z.string(),
    state: z.enum(['ok', 'low', 'depleted', 'unknown']).nullable(),
    fundedVolume: z.number().nullable(),
    consumedVolume: z.number().nullable(),
    remainingVolume: z.number().nullable(),
    consumedFraction: z.number().nullable(),
    askedAt: maybeInstant,
    nextReadAt: maybeInstant,
    failure: maybeText,
    lastNotice: z.object({ state: z.string(), at: instant }).nullable(),
  })
  .meta({ id: 'Budget' });

export const trouble = z
  .object({
    kind: z.enum(troubleKinds),
    severity: z.enum(severities),
    install: maybeText,
    tool: maybeText,
    since: maybeInstant,
    count: z.int().nullable().describe('Of what `says` counts.'),
    says: z.string().describe('One sentence.'),
    detail: maybeText.describe('The error of another system, or the numbers behind.'),
    action: z.string().describe('What to do.'),
    page: maybeText.describe('The page of the console where it is done.'),
    url: maybeText.describe('Where else it is done.'),
  })
  .meta({ id: 'Trouble', description: 'Something that needs an operator.' });

export const explainQuery = z.strictObject({
  subject: text.describe('The id of a trainer or of a contract, or a work address.'),
});

export const explainAnswer = z.object({
  explanations: z.array(explanation),
  budgets: z.array(budget),
  troubles: z.array(trouble).describe('What keeps Gangway from acting on it; mostly empty.'),
});

export const trainerParams = z.strictObject({ trainer: text });

export const timelineAnswer = timeline;

export const invitationAnswer = z.object({
  membership: z.int(),
  invitation: z.object({
    kind: z.enum(['link', 'password']),
    url: maybeText,
    username: z.string().optional(),
    password: z.string().optional(),
    expiresAt: maybeInstant,
  }),
});

export const decidedAnswer = z.object({ membership: z.int(), decision: z.string(), outcome: z.string().optional() });

export const adoptBody = z.strictObject({
  account: z.boolean().optional().describe('Count their account too as made by Gangway.'),
  address: text.optional().describe('The address that their account shows now, if no source has reported it.'),
});

export const releaseBody = z.strictObject({
  doubted: z
    .boolean()
    .optional()
    .describe('Let go of the account of which it is not known whose it is, and not of the member.'),
});
