import { z } from 'zod';
import { count, day, instant, maybeInstant, maybeText, rowNumber, text, wholeNumber } from './common-schema.ts';
import { contractParams } from './customer-schema.ts';

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

export const heldFacts = z
  .object({ reason: z.string(), contracts: z.array(contractKey), source: z.string(), workedOn })
  .meta({ id: 'HeldFacts' });

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
        late: z.array(dueDay).describe('Changed after it left the look-back: not sent.'),
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
  dryRun: z.boolean().optional().describe('Only say what would count.'),
});

const importPreview = z
  .object({
    lines: count,
    people: count,
    contracts: count,
    projects: count,
    days: count,
    firstDay: day,
    lastDay: day,
    sums: counts,
    replaces: z.array(z.object({ importId: z.int(), lines: count, sums: counts })).describe('By the earlier import.'),
  })
  .meta({ id: 'ImportPreview' });

export const importedAnswer = z.object({
  install: z.string(),
  imported: z.int().nullable().describe('The number of the import; null where nothing was taken in.'),
  preview: importPreview.nullable().describe('What counts now, or would; null where something in the file is wrong.'),
  faultCount: count,
  faults: z.array(z.object({ line: z.int(), fault: z.string() })).describe('The first hundred.'),
});

export const importParams = z.strictObject({ import: rowNumber });

export const undoneImportAnswer = z.object({ id: z.int(), undone: z.literal(true) });
