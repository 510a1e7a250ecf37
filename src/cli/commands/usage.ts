import { defineCommand, defineGroup, jsonInsteadOfTable } from '../define-command.ts';
import { argument, flag, limit, option, toDay, toRowNumber, usesInstall, wait } from '../options.ts';

/** The work done in the tools, and what is reported of it to the marketplace. */

const report = defineCommand({
  name: 'report',
  description: 'read the work in the tools, and report what has changed',
  options: {
    install: option('<name>', 'only this one'),
    contract: option('<id>', 'only this one'),
    from: option('<day>', 'no day before this one: 2026-03-15', toDay),
    to: option('<day>', 'no day after this one', toDay),
    dryRun: flag('say what would be sent according to the last reading, and change nothing'),
    acceptLowered: flag('lower what was reported, however many days that concerns'),
    wait: wait('how long to read the tools at most'),
  },
  json: jsonInsteadOfTable,
  notes: `Exit status: 0 clean or applied, 1 failed or unfinished, 2 changes pending (dry run),
3 held for an operator, 64 used wrongly.`,
  opens: 'services',
  uses: ['installs', 'tools'],
  isDry: ({ dryRun }) => dryRun,
  run: async () => (await import('../usage-command.ts')).runUsageReport,
  remote: async () => (await import('../remote/usage.ts')).askUsageReport,
});

const held = defineCommand({
  name: 'held',
  description: 'list work that is not reported, late changes, and days that are lowered; decide about them',
  arguments: { id: argument('[id]', 'the work or the late day to decide about, as it is listed') },
  options: {
    assign: option('<contract>', 'report held work for this contract'),
    discard: flag('never report held work'),
    takeBack: flag('take the decision about held work back'),
    send: flag('send a late day once more'),
    dismiss: flag('leave a late day as it was reported'),
    decided: flag('list what was discarded and assigned'),
  },
  json: jsonInsteadOfTable,
  misuse({ id, assign, discard, takeBack, send, dismiss, decided }) {
    const decisions = [assign !== undefined, discard, takeBack, send, dismiss].filter(Boolean).length;
    if (decisions !== Number(id !== undefined) || (decided && id !== undefined)) {
      return 'to decide, give an id with one of --assign, --discard, --take-back, --send and --dismiss';
    }
    const isOfLate = send || dismiss;
    if (id === undefined || id.startsWith('gw-') === isOfLate) return undefined;
    return isOfLate
      ? '--send and --dismiss are for late days, whose ids begin with gw-'
      : 'a late day, whose id begins with gw-, takes --send or --dismiss';
  },
  opens: 'services',
  run: async () => (await import('../usage-held-command.ts')).runUsageHeld,
  remote: async () => (await import('../remote/usage.ts')).askUsageHeld,
});

const check = defineCommand({
  name: 'check',
  description: 'check that what the tools and imports have is paid, and say why where it is not',
  options: {
    install: option('<name>', 'only this one'),
    contract: option('<id>', 'only this one'),
    from: option('<day>', 'no day before this one: 2026-03-15', toDay),
    to: option('<day>', 'no day after this one', toDay),
    all: flag('list every day, and not only those that differ'),
    recount: flag('first work out anew from the sources what is due'),
  },
  json: jsonInsteadOfTable,
  notes: `For each day of a trainer on a contract: what was seen, what is due, and what the marketplace answered.
Exit status: 0 everything is paid, or was decided by an operator; 1 failed; 2 something is unpaid, or paid without a
source, or the recount differed from what was stored; 64 used wrongly.`,
  opens: 'services',
  isDry: ({ recount }) => !recount,
  run: async () => (await import('../usage-check-command.ts')).runUsageCheck,
  remote: async () => (await import('../remote/usage.ts')).askUsageCheck,
});

const show = defineCommand({
  name: 'show',
  description: 'show the work on a contract that is due, sent and consumed, and why these differ',
  arguments: { contract: argument('<contract>', 'its id') },
  options: { install: option('<name>', 'of which install, where several have one of this id') },
  json: jsonInsteadOfTable,
  opens: 'services',
  uses: usesInstall,
  isDry: true,
  run: async () => (await import('../usage-show-command.ts')).runUsageShow,
  remote: async () => (await import('../remote/usage.ts')).askUsageShow,
});

const importFile = defineCommand({
  name: 'import',
  description: 'take in work from a file, for a tool that cannot be asked about it',
  arguments: { file: argument('[file]', 'a .csv or .ndjson; "gangway usage template" prints one to start from') },
  options: {
    install: option('<name>', 'of which install, where there are several'),
    undo: option('<id>', 'undo an earlier import: what it replaced counts again', toRowNumber),
    yes: flag('do not ask'),
  },
  notes: `A file counts whole or not at all. Of the same person, contract or project, and day, each count is that of
the latest file that has it.
Exit status: 0 done, 1 failed or something in the file is wrong, 2 not confirmed, 64 used wrongly.`,
  misuse({ file, undo }) {
    if ((file === undefined) === (undo === undefined)) return 'name a file, or an import with --undo';
    return file !== undefined && !/\.(csv|ndjson|jsonl)$/i.test(file) && 'the file must be a .csv or an .ndjson';
  },
  opens: 'services',
  run: async () => (await import('../usage-import-command.ts')).runUsageImport,
  remote: async () => (await import('../remote/usage.ts')).askUsageImport,
});

const imports = defineCommand({
  name: 'imports',
  description: 'list what was imported, the latest first',
  options: { install: option('<name>', 'only those of one install'), limit: limit(100) },
  json: jsonInsteadOfTable,
  opens: 'storage',
  run: async () => (await import('../usage-import-command.ts')).runUsageImports,
  remote: async () => (await import('../remote/usage.ts')).askUsageImports,
});

const template = defineCommand({
  name: 'template',
  description: 'print a file to start an import from: every column, and two example lines',
  options: { ndjson: flag('as one JSON object a line instead of CSV') },
  json: 'print one JSON object with the file in it',
  run: async () => (await import('../usage-import-command.ts')).runUsageTemplate,
  local: 'it asks nobody',
});

export const usageCommand = defineGroup(
  'usage',
  'the work done in the tools, and what is reported of it to the marketplace',
  [report, held, check, show, importFile, imports, template],
);
