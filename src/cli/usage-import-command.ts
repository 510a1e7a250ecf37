import { open } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import type { Storage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { limitCache } from '../db/limit-cache.ts';
import { AppError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { openHeapClearing } from '../lib/small-heap.ts';
import { clearImports } from '../usage/import/clear-imports.ts';
import type { ImportFormat } from '../usage/import/entry.ts';
import { createImportStore } from '../usage/import/import-store.ts';
import { createKnownPeopleStore } from '../usage/import/known-people-store.ts';
import { countImport, findUndoable, type SettleDeps, undoImport } from '../usage/import/settle-import.ts';
import { type StageDeps, type Staged, stageImport } from '../usage/import/stage-import.ts';
import { createStagingStore } from '../usage/import/staging-store.ts';
import { toTemplate } from '../usage/import/template.ts';
import { confirm } from './ask.ts';
import { decidedBy, loadRegistry, print, withStorage } from './command-context.ts';
import { toCount, toRowNumber } from './count-option.ts';
import { endWith } from './ending.ts';
import { pickInstall, refuseUnknownInstall } from './pick-install.ts';
import type { Terminal } from './terminal.ts';
import { toFaultText, toImportsTable, toPreviewText } from './usage-import-text.ts';
import { createProgress } from './with-works.ts';

interface ImportOptions {
  install?: string;
  undo?: number;
  yes?: true;
  json?: true;
}

/** `gangway usage import`: work from a file, for tools that cannot be asked. */
export function createUsageImportCommand(terminal: Terminal): Command {
  return new Command('import')
    .description('take in work from a file, for a tool that cannot be asked about it')
    .argument('[file]', 'a .csv or .ndjson; "gangway usage template" prints one to start from')
    .option('--install <name>', 'of which install, where there are several')
    .option('--undo <id>', 'let an earlier import count no more, and what it replaced again', toRowNumber)
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object instead of text')
    .addHelpText(
      'after',
      `
A file counts whole or not at all; a later one replaces the same person, place and day.
Exit status: 0 done, 1 failed or something in the file is wrong, 2 not confirmed, 64 used wrongly.`,
    )
    .action(async (file: string | undefined, options: ImportOptions, command: Command) => {
      const { undo } = options;
      if ((file === undefined) === (undo === undefined)) {
        command.error('error: name a file, or an import with --undo');
      }
      const format = file === undefined ? undefined : formatOf(command, file);
      await withStorage(command, async (storage, config) => {
        const deps = await createDeps(terminal, storage);
        if (undo !== undefined) return await undoOne(terminal, deps, undo, options);
        if (file === undefined || format === undefined) return;
        const install = await chooseInstall(command, storage, config, options.install);
        await importFile(terminal, deps, { install, file, format }, options);
      });
    });
}

function formatOf(command: Command, file: string): ImportFormat {
  const extension = path.extname(file).toLowerCase();
  if (extension === '.csv') return 'csv';
  if (extension === '.ndjson' || extension === '.jsonl') return 'ndjson';
  return command.error('error: the file must be a .csv or an .ndjson');
}

async function chooseInstall(
  command: Command,
  storage: Storage,
  config: Config,
  named: string | undefined,
): Promise<string> {
  const { installs } = await loadRegistry({ config }, storage);
  return pickInstall(command, installs, named);
}

type Deps = StageDeps & SettleDeps;

/** A file may be of any length, and its lines in any order. */
const cacheKiB = 4 * 1024;

async function createDeps(terminal: Terminal, { database, box }: Storage): Promise<Deps> {
  const clock = createDatabaseClock(database, systemClock);
  await clock.correct();
  return {
    database,
    clock,
    signal: terminal.signal,
    onProgress: createProgress(terminal),
    staging: createStagingStore(database),
    imports: createImportStore(database),
    people: createKnownPeopleStore(database, box),
    note: (tx, action, subject) => writeAudit(tx, decidedBy(), action, subject),
  };
}

interface Wanted {
  install: string;
  file: string;
  format: ImportFormat;
}

async function importFile(
  terminal: Terminal,
  deps: Deps,
  { install, file, format }: Wanted,
  options: ImportOptions,
): Promise<void> {
  await limitCache(deps.database, cacheKiB);
  const onProgress = clearingNowAndThen(deps.onProgress);
  const handle = await open(file).catch((error: unknown) => {
    const { code } = error as { code?: string };
    throw new AppError('invalid', `Could not open ${file} (${code ?? 'unknown'})`, {
      cause: error,
    });
  });
  try {
    const fileName = maskText(path.basename(file));
    const chunks = handle.createReadStream() as AsyncIterable<Buffer>;
    const { actor } = decidedBy();
    const staged = await stageImport({ ...deps, onProgress }, { install, fileName, actor, format, chunks });
    await decide(terminal, deps, staged, { install, fileName }, options);
  } catch (error) {
    throw terminal.signal.aborted ? stopped(error) : error;
  } finally {
    await handle.close();
    await clearImports(deps);
  }
}

function stopped(cause: unknown): AppError {
  return new AppError('unavailable', 'Stopped: nothing was imported', { cause });
}

/** Of chunks. */
const clearEvery = 40;

/** A file of a million lines is not to take more memory than one of ten thousand. */
function clearingNowAndThen(onProgress: (says: string) => void): (says: string) => void {
  const clearHeap = openHeapClearing();
  let chunks = 0;
  return (says) => {
    chunks += 1;
    if (chunks % clearEvery === 0) clearHeap();
    onProgress(says);
  };
}

async function decide(
  terminal: Terminal,
  deps: Deps,
  staged: Staged,
  about: { install: string; fileName: string },
  { yes, json }: ImportOptions,
): Promise<void> {
  if (staged.outcome === 'faulty') {
    const { faults, faultCount } = staged;
    if (json) print(terminal, json, { ...about, imported: null, faultCount, faults }, () => '');
    else terminal.stderr.write(`${toFaultText(faults, faultCount)}\n`);
    return endWith(1);
  }
  const { id, preview } = staged;
  if (!json) terminal.stdout.write(`${toPreviewText(about, preview)}\n`);
  const isMeant = yes === true || (await confirm(terminal, 'Import this?'));
  if (isMeant) await countImport(deps, id);
  else await inTransaction(deps.database, (tx) => deps.staging.drop(tx, id));
  const imported = isMeant ? id : null;
  const undo = `"gangway usage import --undo ${id}" takes it back`;
  print(terminal, json, { ...about, imported, ...preview }, () =>
    isMeant ? `Imported as ${id}; ${undo}.` : nothingDone('imported'),
  );
  endWith(isMeant ? 0 : 2);
}

async function undoOne(terminal: Terminal, deps: Deps, id: number, { yes, json }: ImportOptions): Promise<void> {
  const found = await findUndoable(deps, id);
  if (!json) terminal.stdout.write(`${toImportsTable([found])}\n`);
  const question = 'Let this count no more, and what it replaced again?';
  const isMeant = yes === true || (await confirm(terminal, question));
  if (isMeant) await undoImport(deps, id);
  print(terminal, json, { id, undone: isMeant }, () =>
    isMeant ? `The import ${id} is undone.` : nothingDone('undone'),
  );
  endWith(isMeant ? 0 : 2);
}

function nothingDone(done: string): string {
  return `Nothing was ${done}: it was not confirmed, and there is no --yes.`;
}

interface ListOptions {
  install?: string;
  limit: number;
  json?: true;
}

/** `gangway usage imports`: what was imported, and what of it was undone. */
export function createUsageImportsCommand(terminal: Terminal): Command {
  return new Command('imports')
    .description('list what was imported, the latest first')
    .option('--install <name>', 'only those of one install')
    .option('--limit <count>', 'how many at most', toCount, 100)
    .option('--json', 'print one JSON object instead of a table')
    .action(({ json, ...filter }: ListOptions, command: Command) =>
      withStorage(command, async (storage, config) => {
        const imports = await createImportStore(storage.database).list(filter);
        if (imports.length === 0) {
          await refuseUnknownInstall(command, storage, config, filter.install);
        }
        print(terminal, json, { imports }, () => toImportsTable(imports));
      }),
    );
}

/** `gangway usage template`: a file to start from. */
export function createUsageTemplateCommand(terminal: Terminal): Command {
  return new Command('template')
    .description('print a file to start an import from: every column, and two example lines')
    .option('--ndjson', 'as one JSON object a line instead of CSV')
    .action(({ ndjson }: { ndjson?: true }) => {
      terminal.stdout.write(`${toTemplate(ndjson ? 'ndjson' : 'csv')}\n`);
    });
}
