import { z } from 'zod';
import { maskText } from '../lib/mask.ts';
import { nameEach } from '../memberships/membership-list-store.ts';
import { decideHeld, decideLate, listLate, listLowerings, takeBackDecision } from '../usage/due/decide-held.ts';
import { describeHeld } from '../usage/due/explain-day.ts';
import { listHeld } from '../usage/due/held-store.ts';
import { refreshAllDue } from '../usage/due/refresh-due.ts';
import { countImport, findUndoable, prepareImport, undoImport } from '../usage/import/import-file.ts';
import { dropImport, listImports } from '../usage/import/import-store.ts';
import { trainerColumns } from './access.ts';
import { act, group, read } from './operation.ts';
import { oneInstall } from './pick-installs.ts';
import { type Columns, fieldColumns, numberColumns, record, table } from './show.ts';
import { formatList } from './text-table.ts';
import { check, recount } from './usage-check.ts';
import { preview, report } from './usage-report.ts';
import { show } from './usage-show.ts';
import { Counts, changeColumns, countColumns, HeldWork, trainerDay } from './usage-values.ts';
import { count, day, flag, instant, maybeInstant, maybeText, named, ofInstall, rowNumber, text } from './values.ts';

/** The work done in the tools: imports from files, work that waits for a decision, and reports. */

const Import = named(
  { id: 'Import', description: 'Work that was taken in from a file.' },
  {
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
  },
);

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

const Sum = named('ImportOutcomeSum', { lines: count, counts: Counts });

const Line = named(
  { id: 'ImportedLine', description: 'What happens with one line.' },
  {
    line: z.int(),
    outcome: z.enum(['sent', 'held', 'unchanged', 'refused']),
    trainerId: maybeText,
    day: day.nullable(),
    contractId: maybeText,
    from: Counts.nullable().describe('What the marketplace has of the day on the contract.'),
    to: Counts.nullable().describe('What it should have; of held work, its counts.'),
    reason: maybeText.describe('Why it is held or refused, or when it is sent.'),
  },
);

const importFile = act('POST /usage/imports', 'Import work from a file: all of it, or nothing', {
  // The command reads a file, however long it is.
  hasCommand: false,
  in: z.strictObject({
    install: text.describe('The install.'),
    fileName: text.describe('What the file is called.'),
    format: z.enum(['csv', 'ndjson']).describe('How it is written.'),
    content: z
      .string()
      .min(1)
      .max(200_000)
      .describe('The whole file. Import longer files by command, on the machine of the database.'),
    dryRun: flag('Only say what would happen.'),
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
    yes: flag('Undo it; otherwise it is only shown.'),
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

const LateDay = named(
  { id: 'LateDay', description: 'A day that changed after its last report.' },
  { ...trainerDay, id: z.string(), from: Counts, to: Counts },
);

const Lowering = named('Lowering', {
  ...trainerDay,
  state: z.enum(['held', 'reported']),
  since: instant,
  from: Counts,
  to: Counts.nullable(),
});

const HeldList = z.object({
  decided: z.boolean(),
  held: z.array(HeldWork),
  late: z.array(LateDay),
  lowerings: z.array(Lowering),
});

export type HeldList = z.output<typeof HeldList>;

type Changed = Pick<z.output<typeof Lowering>, keyof typeof trainerDay | 'from' | 'to'>;

const heldColumns: Columns<HeldWork> = [
  ...fieldColumns('id', 'source'),
  ['worked on', ({ workedOn }) => Object.values(workedOn).at(-1)],
  ...trainerColumns,
  ['day', ({ day }) => day],
  ...countColumns<HeldWork>(({ counts }, name) => counts[name]),
  ['reason', ({ reason }) => describeHeld[reason]],
  ['contracts', ({ contracts }) => contracts.map(({ contractId }) => contractId).join(' ')],
];

const decidedColumns: Columns<HeldWork> = [
  ...heldColumns,
  ['decision', ({ state }) => state],
  ['at', ({ since }) => since],
];

const changedColumns: Columns<Changed> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ...trainerColumns,
  ['day', ({ day }) => day],
  ...changeColumns<Changed>(
    ({ from }) => from,
    ({ to }) => to,
  ),
];

const lateColumns: Columns<z.output<typeof LateDay>> = [['id', ({ id }) => id], ...changedColumns];

const loweringColumns: Columns<z.output<typeof Lowering>> = [
  ...changedColumns,
  ['', ({ state }) => (state === 'held' ? 'waits for you' : 'reported')],
  ['since', ({ since }) => since],
];

const held = read('GET /usage/held', 'List work that is not reported, late changes, and days that are lowered', {
  asks: 'services',
  in: z.strictObject({
    decided: flag('List what operators discarded and assigned instead.'),
  }),
  out: HeldList,
  async run({ decided }, ctx, { signal }) {
    await refreshAllDue(ctx, signal);
    const states = decided ? (['discarded', 'assigned'] as const) : (['held'] as const);
    const work: Awaited<ReturnType<typeof listHeld>> = [];
    for (const state of states) work.push(...(await listHeld(ctx, { state })));
    const installs = decided ? [] : [...ctx.installs.keys()];
    return {
      decided,
      held: await nameEach(ctx, work),
      late: await nameEach(ctx, await listLate(ctx, installs)),
      lowerings: await nameEach(ctx, await listLowerings(ctx, installs)),
    };
  },
  show({ decided, held: work, late, lowerings }) {
    const list = decided
      ? formatList(work, decidedColumns, 'No work was discarded or assigned.')
      : formatList(work, heldColumns, 'No work is held.');
    const lateList = `Days that changed after their last report:\n${formatList(late, lateColumns, '')}`;
    const lowered = `Days with less than was reported:\n${formatList(lowerings, loweringColumns, '')}`;
    const advice = 'To report what waits: "gangway usage report --accept-lowered", for all or with --contract <id>.';
    return [
      list,
      ...(late.length === 0 ? [] : [lateList]),
      ...(lowerings.length === 0 ? [] : [lowered]),
      ...(lowerings.some(({ state }) => state === 'held') ? [advice] : []),
    ].join('\n\n');
  },
});

const work = z
  .string()
  .regex(/^[0-9a-f]{12}$/, 'must be the id of held work')
  .describe('Its id in the list of held work.');

const lateDay = z
  .string()
  .regex(/^gw-[0-9a-f]{32}$/, 'must be the id of a late day, which begins with gw-')
  .describe('Its id in the list, which begins with gw-.');

const Decided = z.object({ id: z.string() });

const ofWork = { asks: 'services', in: z.strictObject({ work }), out: Decided } as const;

const assign = act('POST /usage/held/{work}/assign', 'Report held work for a contract', {
  asks: 'services',
  args: ['work', 'contract'],
  in: z.strictObject({ work, contract: text.describe('The contract that the work belongs to.') }),
  out: Decided.extend({ contractId: z.string() }),
  async run({ work: id, contract: contractId }, ctx, { by }) {
    await decideHeld(ctx, by, id, contractId);
    return { id, contractId };
  },
  show: ({ id, contractId }) => `${id} is assigned to ${contractId}. The next report sends it.`,
});

const discard = act('POST /usage/held/{work}/discard', 'Never report held work', {
  ...ofWork,
  run: ({ work: id }, ctx, { by }) => decideHeld(ctx, by, id, null).then(() => ({ id })),
  show: ({ id }) => `${id} is discarded and never reported. "gangway usage take-back ${id}" undoes that.`,
});

const takeBack = act('POST /usage/held/{work}/take-back', 'Take a decision about held work back', {
  ...ofWork,
  run: ({ work: id }, ctx, { by }) => takeBackDecision(ctx, by, id).then(() => ({ id })),
  show: ({ id }) => `The decision about ${id} is taken back.`,
});

const ofLateDay = { asks: 'services', in: z.strictObject({ day: lateDay }), out: Decided } as const;

const send = act('POST /usage/late/{day}/send', 'Send a late day once more with the next report', {
  ...ofLateDay,
  run: ({ day: id }, ctx, { by }) => decideLate(ctx, by, id, true).then(() => ({ id })),
  show: ({ id }) => `The next report sends ${id} once more.`,
});

const dismiss = act('POST /usage/late/{day}/dismiss', 'Leave a late day as it was reported', {
  ...ofLateDay,
  run: ({ day: id }, ctx, { by }) => decideLate(ctx, by, id, false).then(() => ({ id })),
  show: ({ id }) => `${id} is dismissed. What was reported stays.`,
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
