import { z } from 'zod';
import {
  contractParams,
  count,
  day,
  flag,
  instant,
  maybeInstant,
  maybeText,
  rowNumber,
  text,
  wholeNumber,
} from './common-schema.ts';

/** The work done in the tools, and what is reported of it. */

export const counts = z
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

const heldWork = z
  .object({
    id: z.string().describe('To decide about it: `POST /usage/held/{work}`.'),
    install: z.string().describe('Empty where it may be of several, or of none.'),
    trainerId: z.string(),
    day,
    source: z.string(),
    workedOn,
    counts,
    reason: z.string(),
    contracts: z.array(contractKey).describe('Contracts that it may be of.'),
    state: z.enum(['held', 'discarded', 'assigned']),
    since: instant.describe('Since when it is in this state.'),
  })
  .meta({ id: 'HeldWork', description: 'Work that is not reported before an operator decides, or was decided.' });

export const dayKey = { install: z.string(), contractId: z.string(), trainerId: z.string(), day };

export const heldQuery = z.strictObject({
  decided: flag.optional().describe('Instead of what waits, what operators discarded and assigned.'),
});

export const heldAnswer = z.object({
  held: z.array(heldWork),
  late: z
    .array(
      z
        .object({ ...dayKey, id: z.string(), from: counts, to: counts })
        .meta({ id: 'LateDay', description: 'A day that changed after it was sent for the last time.' }),
    )
    .describe('To decide about them: `POST /usage/late/{day}`.'),
  lowerings: z.array(
    z
      .object({
        ...dayKey,
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
    due: counts.nullable(),
    observations: z.array(z.object({ source: z.string(), workedOn, counts, seenAt: instant })),
    sent: counts.nullable().describe('What the marketplace answered.'),
    difference: counts.nullable(),
    why: maybeText,
    report: z
      .object({
        state: z.string(),
        sentAt: instant,
        answeredAt: maybeInstant,
        closedAt: maybeInstant.describe('When it was sent for the last time.'),
        doubtedUntil: maybeInstant,
        heldSince: maybeInstant,
        lowered: z.object({ at: instant, from: counts }).nullable(),
        status: z.int().nullable(),
        requestId: maybeText,
        message: maybeText,
        reportId: z.string(),
      })
      .nullable()
      .describe('Null where nothing was sent.'),
  })
  .meta({ id: 'UsageDay' });

export const contractUsageAnswer = z.object({
  install: z.string(),
  contractId: z.string(),
  days: z.array(shownDay),
  held: z.array(heldWork),
  reported: counts.describe('The sum of all days that were ever reported.'),
  gaps: z
    .array(z.object({ tool: z.string(), scope: z.string(), since: maybeInstant, says: z.string() }))
    .describe('What a tool cannot report at present.'),
  fallen: z
    .array(z.object({ tool: z.string(), scope: z.string(), trainerId: z.string(), since: instant, fallen: counts }))
    .describe('Totals of a tool that are below what was counted.'),
  failing: z.array(z.object({ tool: z.string(), scope: z.string(), readAt: maybeInstant, failure: z.string() })),
  files: z.record(z.string(), z.string()).describe('The names of imported files, by source.'),
  consumed: z.union([counts, z.string()]).describe('What the marketplace says was consumed, or why it says nothing.'),
  explained: z
    .object({
      verdict: z.enum(['equal', 'explained', 'more', 'less']),
      difference: counts.describe('What was consumed beyond what was reported.'),
      arrived: z.array(z.string()).describe('When the requests were sent whose answers were lost.'),
    })
    .nullable(),
});

export const heldParams = z.strictObject({ work: z.string().regex(/^[0-9a-f]{12}$/, 'must be the id of held work') });

export const decideHeldBody = z.strictObject({
  contract: text.nullable().describe('Report it for this contract; null to never report it.'),
});

export const decidedHeldAnswer = z.object({ id: z.string(), contractId: maybeText });

export const takenBackAnswer = z.object({ id: z.string(), takenBack: z.literal(true) });

export const lateParams = z.strictObject({
  day: z.string().regex(/^gw-[0-9a-f]{32}$/, 'must be the id of a late day'),
});

export const decideLateBody = z.strictObject({
  send: z.boolean().describe('Whether the next report sends the day once more; false where none is to.'),
});

export const decidedLateAnswer = z.object({ id: z.string(), sent: z.boolean() });

const wantedReport = {
  install: text.optional(),
  contract: text.optional(),
  from: day.optional(),
  to: day.optional(),
};

export const reportPreviewQuery = z.strictObject(wantedReport);

const dueDay = z.object({ contractId: z.string(), trainerId: z.string(), day, counts }).meta({ id: 'DueDay' });
const plannedDay = dueDay
  .extend({ cause: z.string(), before: counts.describe('What the marketplace has.') })
  .meta({ id: 'PlannedDay' });

export const reportPreviewAnswer = z.object({
  installs: z.array(
    z
      .object({
        install: z.string(),
        entries: z.array(plannedDay).describe('What would be sent.'),
        heldLowered: z.array(plannedDay).describe('What would be held, as it lowers too much.'),
        late: z
          .array(dueDay.extend({ before: counts }).meta({ id: 'LateDueDay' }))
          .describe('Changed after it was sent for the last time: not sent before an operator says so.'),
        parked: z.array(dueDay).describe('Refused before, and not changed since.'),
        held: z.array(heldWork),
      })
      .meta({ id: 'ReportPlan' }),
  ),
  readings: z
    .array(
      z.object({
        tool: z.string(),
        scope: z.string(),
        readBeganAt: maybeInstant,
        ageSeconds: z.int().nullable(),
        failure: maybeText,
      }),
    )
    .describe('How old the readings are that this follows from.'),
});

export const reportBody = z.strictObject({
  ...wantedReport,
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

const importRow = z
  .object({
    id: z.int(),
    install: z.string(),
    state: z.enum(['counted', 'undone']),
    fileName: z.string(),
    actor: z.string(),
    countedAt: instant,
    undoneAt: maybeInstant,
    lines: count,
    people: count,
    firstDay: day,
    lastDay: day,
  })
  .meta({ id: 'Import', description: 'Work that was taken in from a file.' });

export const importsQuery = z.strictObject({
  limit: wholeNumber(1, 500).optional().describe('How many at most, the latest first; 100 without it.'),
  install: text.optional(),
});

export const importsAnswer = z.object({ imports: z.array(importRow) });

export const importBody = z.strictObject({
  install: text.optional().describe('Of which install, where there are several.'),
  fileName: text,
  format: z.enum(['csv', 'ndjson']),
  content: z.string().min(1).max(200_000).describe('The whole file. Longer ones are imported beside the database.'),
  dryRun: z.boolean().optional().describe('Only say what would happen.'),
});

const outcomeSum = z.object({ lines: count, counts }).meta({ id: 'ImportOutcomeSum' });

const previewedLine = z
  .object({
    line: z.int(),
    outcome: z.enum(['sent', 'held', 'unchanged', 'refused']),
    trainerId: maybeText,
    day: day.nullable(),
    contractId: maybeText,
    from: counts.nullable().describe('What the marketplace has of the day on the contract.'),
    to: counts.nullable().describe('What it is to have. Of held work, its counts.'),
    reason: maybeText.describe('Why it is held or refused, or when it is sent.'),
  })
  .meta({ id: 'ImportedLine', description: 'What happens with one line.' });

export const importedAnswer = z.object({
  install: z.string(),
  imported: z.int().nullable().describe('The number of the import; null where nothing was imported.'),
  lines: count,
  people: count,
  firstDay: day.nullable(),
  lastDay: day.nullable(),
  outcomes: z
    .object({ sent: outcomeSum, held: outcomeSum, unchanged: outcomeSum, refused: outcomeSum })
    .describe('By how much the counts of the marketplace change; of held work, its counts.'),
  listed: z.array(previewedLine).describe('Every line. If one is refused, only those that are.'),
});

export const importParams = z.strictObject({ import: rowNumber });

export const undoneImportAnswer = z.object({ id: z.int(), undone: z.literal(true) });
