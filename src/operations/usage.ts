import { z } from 'zod';
import { maskText } from '../lib/mask.ts';
import { countImport, findUndoable, prepareImport, undoImport } from '../usage/import/import-file.ts';
import { dropImport, listImports } from '../usage/import/import-store.ts';
import { act, group, read } from './operation.ts';
import { type Columns, fieldColumns, numberColumns, record, table } from './show.ts';
import { formatList } from './text-table.ts';
import { check, recount } from './usage-check.ts';
import { assign, discard, dismiss, held, send, takeBack } from './usage-held.ts';
import { preview, report } from './usage-report.ts';
import { show } from './usage-show.ts';
import { Counts } from './usage-values.ts';
import { count, day, instant, maybeInstant, maybeText, ofInstall, oneInstall, rowNumber, text } from './values.ts';

/** The work done in the tools, what is reported of it to the marketplace, and what is imported from files. */

const Import = z
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

const columns: Columns<z.output<typeof Import>> = [
  ...numberColumns('id'),
  ['file', ({ fileName }) => fileName],
  ...fieldColumns('install', 'state'),
  ...numberColumns('lines', 'people'),
  ['days', ({ firstDay, lastDay }) => `${firstDay} to ${lastDay}`],
  ['age', ({ countedAt }) => countedAt, { as: 'age' }],
  ['by', ({ actor }) => actor],
];

const imports = read('GET /usage/imports', 'List what was imported, latest first', {
  in: z.strictObject({
    install: ofInstall,
    limit: z.int().min(1).max(500).default(100).describe('How many at most.'),
  }),
  out: z.object({ imports: z.array(Import) }),
  run: async (filter, ctx) => ({ imports: await listImports(ctx, filter) }),
  show: table(columns, 'Nothing was imported.', 'imports'),
});

const Sum = z.object({ lines: count, counts: Counts }).meta({ id: 'ImportOutcomeSum' });

const Line = z
  .object({
    line: z.int(),
    outcome: z.enum(['sent', 'held', 'unchanged', 'refused']),
    trainerId: maybeText,
    day: day.nullable(),
    contractId: maybeText,
    from: Counts.nullable().describe('What the marketplace has of the day on the contract.'),
    to: Counts.nullable().describe('What it is to have. Of held work, its counts.'),
    reason: maybeText.describe('Why it is held or refused, or when it is sent.'),
  })
  .meta({ id: 'ImportedLine', description: 'What happens with one line.' });

const importFile = act('POST /usage/imports', 'Import work from a file: all of it, or nothing', {
  // The command reads a file, however long it is.
  hasCommand: false,
  in: z.strictObject({
    install: text.describe('Of which install.'),
    fileName: text.describe('What the file is called.'),
    format: z.enum(['csv', 'ndjson']).describe('How it is written.'),
    content: z.string().min(1).max(200_000).describe('The whole file. Longer ones are imported beside the database.'),
    dryRun: z.boolean().default(false).describe('Only say what would happen.'),
  }),
  out: z.object({
    install: z.string(),
    imported: z.int().nullable().describe('The number of the import; null if nothing was imported.'),
    lines: count,
    people: count,
    firstDay: day.nullable(),
    lastDay: day.nullable(),
    outcomes: z
      .object({ sent: Sum, held: Sum, unchanged: Sum, refused: Sum })
      .describe('By how much the counts of the marketplace change; of held work, its counts.'),
    listed: z.array(Line).describe('Every line. If one is refused, only those that are.'),
  }),
  async run({ install: named, fileName, format, content, dryRun }, ctx, { by, signal, onProgress }) {
    const install = oneInstall(ctx, named);
    const file = { install, fileName: maskText(fileName), actor: by.actor, format, chunks: oneChunk(content) };
    const { id, preview } = await prepareImport(ctx, file, { signal, onProgress });
    const isImported = id !== null && !dryRun;
    if (isImported) await countImport(ctx, by, id);
    else if (id !== null) await dropImport(ctx, id);
    return { install, imported: isImported ? id : null, ...preview };
  },
  show: record,
});

async function* oneChunk(content: string): AsyncGenerator<Buffer> {
  yield Buffer.from(content);
}

const undo = act('POST /usage/imports/{import}/undo', 'Undo an import, so that what it replaced applies again', {
  asks: 'services',
  in: z.strictObject({
    import: rowNumber.describe('Its number in the list of imports.'),
    yes: z.boolean().default(false).describe('Undo it; otherwise it is only shown.'),
  }),
  out: z.object({ import: Import, isUndone: z.boolean() }),
  async run({ import: id, yes }, ctx, { by }) {
    const found = await findUndoable(ctx, id);
    if (yes) await undoImport(ctx, by, id);
    return { import: found, isUndone: yes };
  },
  show({ import: of, isUndone }) {
    if (isUndone) {
      return `The import ${of.id} is undone. What changes goes out with the next report; "gangway usage held" lists what waits.`;
    }
    const says =
      'Nothing was changed; --yes undoes it. What it replaced counts again, and what only it had is reported as zero.';
    return `${formatList([of], columns, '')}\n\n${says}`;
  },
  status: ({ isUndone }) => (isUndone ? 0 : 2),
});

export const operations = group('usage', {
  show,
  check,
  recount,
  preview,
  report,
  held,
  assign,
  discard,
  'take-back': takeBack,
  send,
  dismiss,
  imports,
  undo,
  import: importFile,
});
