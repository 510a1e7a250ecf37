import { z } from 'zod';
import { nameRule, projectRule } from '../../config/text-rules.ts';
import { budgetStates } from '../../domain/budget.ts';
import { contractStatuses } from '../../domain/evidence-status.ts';
import { runTriggers } from '../../domain/run.ts';
import { sourceKinds } from '../../domain/source-kind.ts';
import { removalCauses } from '../../domain/standing.ts';
import { check, count, flag, instant, maybeInstant, maybeText, pageSchema, paging, text } from './common-schema.ts';

/** Customers: their installs, links, contracts and webhook endpoints. */

const installName = z.string().regex(nameRule.pattern, nameRule.says);

export const installParams = z.strictObject({ install: installName });

const install = z
  .object({
    install: z.string(),
    livesIn: z.enum(['configuration', 'database']),
    tool: z.string(),
    projects: z.array(z.string()),
    readAt: maybeInstant.describe('When the last complete reading began.'),
    failure: maybeText.describe('Why it could not be read since.'),
    troubles: z
      .array(z.string())
      .describe('What is wrong at the marketplace, with its endpoint, its tool and its people; empty if nothing is.'),
  })
  .meta({ id: 'Install' });

export const installsAnswer = z.object({ installs: z.array(install) });

export const ofInstallQuery = z.strictObject({ install: installName.optional() });

export const contractParams = z.strictObject({ contract: text });

const contract = z
  .object({
    install: z.string(),
    contractId: z.string(),
    status: z.enum(contractStatuses),
    title: maybeText,
    heardAt: maybeText,
    people: count,
    budgetState: z.enum(budgetStates).nullable(),
    consumedFraction: z.number().nullable(),
    remainingFraction: z.number().nullable().describe('What is left of the budget; null without one that is read.'),
    suspectSince: maybeInstant.describe('Since when no list has it; null if the last reading found it.'),
  })
  .meta({ id: 'Contract' });

export const contractQuery = z.strictObject({
  ...paging,
  install: installName.optional(),
  status: z.enum(contractStatuses).optional(),
  budget: z.enum(budgetStates).optional(),
  suspects: flag.optional().describe('Only those that are no longer listed, although nothing says they ended.'),
});

export const contractPage = pageSchema(contract);

export const ofInstallBody = z.strictObject({
  install: installName.optional().describe('Of which install, where several have one of this id.'),
});

export const decidedContractAnswer = z.object({
  install: z.string(),
  contractId: z.string(),
  decision: z.enum(['end', 'reopen']),
});

const project = z
  .string()
  .max(500)
  .refine((value) => projectRule.pattern.test(value) && value.isWellFormed(), projectRule.says)
  // The same for programs, some of which know no classes of characters.
  .meta({ pattern: '^[^*\\u0000-\\u001f\\u007f-\\u009f]+\\*?$|^\\*$' });

export const connectBody = z.strictObject({
  source: z
    .enum(sourceKinds)
    .optional()
    .describe(
      '"employer" for your own account, with a personal token; without it, what the install is, or a platform.',
    ),
  token: z.string().min(1).max(10_000).optional().describe('The token; without it the stored one is kept.'),
  jobs: z
    .array(z.strictObject({ job: text, project: text }))
    .max(1000)
    .optional()
    .describe('Of your own account: whose people work in which project. They are added to those that are linked.'),
  tool: text.optional(),
  projects: z.array(project).min(1).max(1000).optional(),
  relink: z.boolean().optional().describe('Link projects again that were linked before the customer connected again.'),
  move: z.boolean().optional().describe('Have events delivered here that are delivered elsewhere now.'),
  acceptOrphans: z.boolean().optional(),
  acceptOtherCustomer: z.boolean().optional(),
});

export const connectedAnswer = z.object({
  install: z.string(),
  grant: z.string(),
  links: count,
  relinked: z.array(z.string()).describe('Projects that were linked again.'),
  missing: z.array(z.object({ project: z.string(), why: z.string() })),
  checks: z.array(check),
  wantedAt: instant.describe('The run that brings the tools in line began then or later: `GET /runs`.'),
});

export const removeInstallBody = z.strictObject({
  acceptOrphans: z.boolean().optional().describe('Do it although people are in a tool by it: they are kept.'),
});

export const installAnswer = z.object({ install: z.string() });

const runCounts = { added: count, removed: count, held: count, failed: count };
const outcome = z.enum(['clean', 'applied', 'pending', 'held', 'failed']);

export const previewedAnswer = z.object({
  installs: z.array(
    z
      .object({
        install: z.string(),
        outcome,
        ...runCounts,
        plan: z.int().nullable().describe('The open plan with the removals that wait.'),
        failure: maybeText.describe('Why it could not be read.'),
        changes: z.array(
          z.object({
            change: z.enum(['add', 'waiting', 'remove', 'held', 'later']),
            tool: z.string(),
            groupId: z.string(),
            trainerId: z.string(),
            cause: z.enum(removalCauses).nullable(),
            at: maybeInstant.describe('Of a removal that waits: not before then.'),
          }),
        ),
      })
      .meta({ id: 'PreviewedInstall' }),
  ),
});

export const runQuery = z.strictObject({ ...paging, install: installName.optional() });

export const runPage = pageSchema(
  z
    .object({
      id: z.int(),
      install: z.string(),
      trigger: z.enum(runTriggers),
      beganAt: instant,
      readAt: maybeInstant.describe('When everything that was read was evidence; null before that.'),
      endedAt: maybeInstant.describe('When the tools were in line; null while that is under way.'),
      outcome: outcome.nullable(),
      contracts: count.describe('How many contracts were read.'),
      ...runCounts,
      failure: maybeText,
    })
    .meta({ id: 'Run', description: 'One reading of an install, and what followed from it in the tools.' }),
);

export const readBody = z.strictObject({
  install: installName.optional().describe('Only this one; without it, all.'),
});

export const readAnswer = z.object({ installs: z.array(z.string()), wantedAt: instant });

const endpoint = z
  .object({
    install: z.string(),
    endpointId: maybeText.optional(),
    url: maybeText.optional(),
    status: maybeText.optional(),
    missingEventTypes: z.array(z.string()).optional(),
    consecutiveFailures: z.int().nullable().optional(),
    checkedAt: maybeInstant.optional(),
    trouble: maybeText.optional(),
    action: maybeText.optional(),
    failure: maybeText.describe('Why the marketplace could not be asked.'),
  })
  .meta({ id: 'Endpoint' });

export const endpointsAnswer = z.object({ endpoints: z.array(endpoint) });

export const rotatedAnswer = z.object({
  install: z.string(),
  endpointId: z.string(),
  replaced: z.array(z.string()),
  hadGap: z.boolean(),
  hasConfiguredSecrets: z.boolean(),
});

const token = z
  .object({
    install: z.string(),
    id: z.string(),
    name: maybeText,
    scopes: z.array(z.string()),
    status: z.enum(['active', 'expired', 'revoked']),
    createdAt: maybeInstant,
    lastUsedAt: maybeInstant,
    expiresAt: maybeInstant,
    isUsed: z.boolean().describe('Whether it is the one that the install is read with.'),
  })
  .meta({ id: 'Token' });

export const tokensAnswer = z.object({
  tokens: z.array(token),
  unread: z.array(z.object({ install: z.string(), failure: z.string() })),
});

export const rotateTokenBody = z.strictObject({
  keep: z.array(text).optional().describe('Scopes of the old token to keep beside those that are needed.'),
});

export const rotatedTokenAnswer = z.object({
  install: z.string(),
  tokenId: z.string(),
  scopes: z.array(z.string()),
  expiresAt: maybeInstant,
  replacedId: z.string().describe('The old token, which is revoked.'),
});

export const redeliverBody = z.strictObject({
  delivery: text.optional().describe('This delivery, whether it failed or not: its id at the marketplace.'),
});

export const redeliveredAnswer = z.object({
  install: z.string(),
  endpointId: z.string(),
  status: z.string(),
  requeued: count.nullable(),
});
