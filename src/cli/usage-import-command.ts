import { open } from 'node:fs/promises';
import path from 'node:path';
import { inTransaction, limitCache } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { AppError } from '../domain/errors.ts';
import type { Counts } from '../domain/usage.ts';
import type { Storage } from '../keys/storage.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { openHeapClearing } from '../lib/small-heap.ts';
import { stripControl } from '../lib/strip-control.ts';
import { clearImports } from '../usage/import/clear-imports-worker.ts';
import type { ImportFormat } from '../usage/import/entry.ts';
import { type ListedImport, listImports } from '../usage/import/import-store.ts';
import type { ImportPreview } from '../usage/import/preview-import.ts';
import { countImport, findUndoable, undoImport } from '../usage/import/settle-import.ts';
import { type LineFault, stageImport } from '../usage/import/stage-import.ts';
import { dropStaging, type ReplacedImport } from '../usage/import/staging-store.ts';
import { toTemplate } from '../usage/import/template.ts';
import { askYesNo } from './ask.ts';
import type { Printed } from './define-command.ts';
import { pickInstall, refuseUnknownInstall } from './pick-install.ts';
import type { StorageSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { createProgress, type Terminal } from './terminal.ts';
import { decidedBy, loadRegistry } from './with-storage.ts';

interface Confirmation {
  yes: boolean;
  json: boolean;
}

export interface ImportOptions extends Confirmation {
  file: string | undefined;
  install: string | undefined;
  undo: number | undefined;
}

/** `gangway usage import`: work from a file, for tools that cannot be asked. */
export async function runUsageImport(options: ImportOptions, session: StorageSession): Promise<Printed> {
  const { file, undo, install: named } = options;
  const { terminal, storage } = session;
  const clock = createDatabaseClock(storage.database, systemClock);
  await clock.correct();
  if (undo !== undefined) {
    const takeBack = () => undoImport(storage, clock, decidedBy(), undo);
    return await confirmUndo(terminal, await findUndoable(storage, undo), options, takeBack);
  }
  if (file === undefined) return session.misuse('name a file');
  const { installs } = await loadRegistry(session);
  const install = pickInstall(session, installs, named);
  const format = formatOf(file);
  return await importFile(session, clock, { install, file, format }, options);
}

export function formatOf(file: string): ImportFormat {
  return path.extname(file).toLowerCase() === '.csv' ? 'csv' : 'ndjson';
}

/** A small cache is enough for a file of any length with lines in any order. */
const cacheKiB = 4 * 1024;

interface Wanted {
  install: string;
  file: string;
  format: ImportFormat;
}

async function importFile(
  { terminal, storage }: StorageSession,
  clock: Clock,
  { install, file, format }: Wanted,
  options: ImportOptions,
): Promise<Printed> {
  await limitCache(storage.database, cacheKiB);
  const progress = { signal: terminal.signal, onProgress: createProgress(terminal) };
  const clearing = { ...progress, onProgress: clearingNowAndThen(progress.onProgress) };
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
    const staged = await stageImport(storage, clock, { install, fileName, actor, format, chunks }, clearing);
    if (staged.outcome === 'faulty') {
      return await confirmImport(
        terminal,
        { install, fileName },
        { ...staged, preview: null },
        options,
        async () => null,
      );
    }
    const found = { preview: staged.preview, faults: [], faultCount: 0 };
    return await confirmImport(terminal, { install, fileName }, found, options, (isMeant) =>
      settle(storage, clock, staged.id, isMeant),
    );
  } catch (error) {
    throw terminal.signal.aborted ? stopped(error) : error;
  } finally {
    await handle.close();
    await clearImports(storage, clock, progress);
  }
}

async function settle(ctx: Storage, clock: Clock, id: number, isMeant: boolean): Promise<number | null> {
  if (isMeant) await countImport(ctx, clock, decidedBy(), id);
  else await inTransaction(ctx.database, (tx) => dropStaging(tx, id));
  return isMeant ? id : null;
}

function stopped(cause: unknown): AppError {
  return new AppError('unavailable', 'Stopped: nothing was imported', { cause });
}

/** The heap is cleared after so many chunks. */
const clearEvery = 40;

/** With it, a file of a million lines takes no more memory than one of ten thousand. */
function clearingNowAndThen(onProgress: (says: string) => void): (says: string) => void {
  const clearHeap = openHeapClearing();
  let chunks = 0;
  return (says) => {
    chunks += 1;
    if (chunks % clearEvery === 0) clearHeap();
    onProgress(says);
  };
}

/** What a file would do: `preview` is null where something in it is wrong. */
export interface FoundInFile {
  preview: ImportPreview | null;
  /** The first of `faultCount`. */
  faults: LineFault[];
  faultCount: number;
}

/** @param settle lets the file count, or gives it up. @returns the number of the import */
export async function confirmImport(
  terminal: Terminal,
  about: { install: string; fileName: string },
  { preview, faults, faultCount }: FoundInFile,
  { yes, json }: Confirmation,
  settle: (isMeant: boolean) => Promise<number | null>,
): Promise<Printed> {
  if (preview === null) {
    if (!json) terminal.stderr.write(`${toFaultText(faults, faultCount)}\n`);
    return { data: { ...about, imported: null, faultCount, faults }, status: 1 };
  }
  if (!json) terminal.stdout.write(`${toPreviewText(about, preview)}\n`);
  const imported = await settle(yes || (await askYesNo(terminal, 'Import this?')));
  const done = `Imported as ${imported}; "gangway usage import --undo ${imported}" takes it back.`;
  return {
    data: { ...about, imported, ...preview },
    text: () => (imported === null ? nothingDone('imported') : done),
    status: imported === null ? 2 : 0,
  };
}

export async function confirmUndo(
  terminal: Terminal,
  found: ListedImport,
  { yes, json }: Confirmation,
  undo: () => Promise<unknown>,
): Promise<Printed> {
  if (!json) terminal.stdout.write(`${toImportsTable([found])}\n`);
  const isMeant = yes || (await askYesNo(terminal, 'Let this count no more, and what it replaced again?'));
  if (isMeant) await undo();
  return {
    data: { id: found.id, undone: isMeant },
    text: () => (isMeant ? `The import ${found.id} is undone.` : nothingDone('undone')),
    status: isMeant ? 0 : 2,
  };
}

function nothingDone(done: string): string {
  return `Nothing was ${done}: it was not confirmed, and there is no --yes.`;
}

/** `gangway usage imports`: the imports, and which of them were undone. */
export async function runUsageImports(
  { install, limit }: { install: string | undefined; limit: number },
  session: StorageSession,
): Promise<Printed> {
  const imports = await listImports(session.storage, { install, limit });
  if (imports.length === 0) await refuseUnknownInstall(session, install);
  return printImports(imports);
}

export function printImports(imports: readonly ListedImport[]): Printed {
  return { data: { imports }, text: () => toImportsTable(imports) };
}

/** `gangway usage template`: a file to start from. */
export function runUsageTemplate({ ndjson }: { ndjson: boolean }): Printed {
  const format = ndjson ? 'ndjson' : 'csv';
  const template = toTemplate(format);
  return { data: { format, template }, text: () => template };
}

/** Texts about imports. */

function toFaultText(faults: readonly LineFault[], faultCount: number): string {
  const lines = faults.map(({ line, fault }) => `line ${line}: ${fault}`);
  const more = faultCount - faults.length;
  if (more > 0) lines.push(`and ${toNumber(more)} more`);
  const wrong = faultCount === 1 ? '1 line is' : `${toNumber(faultCount)} lines are`;
  return [...lines, `Nothing was imported: ${wrong} wrong.`].join('\n');
}

function toPreviewText({ install, fileName }: { install: string; fileName: string }, preview: ImportPreview): string {
  const { lines, people, contracts, projects, days, firstDay, lastDay, sums, replaces } = preview;
  const facts = [
    ['people', toNumber(people)],
    ['contracts', toNumber(contracts)],
    ['projects', toNumber(projects)],
    ['days', `${toNumber(days)}, ${firstDay} to ${lastDay}`],
    ...toSums(sums),
    ...replaces.map((one) => ['replaces', toReplaced(one)]),
  ];
  const title = `${install}, ${stripControl(fileName)}: ${toNumber(lines)} lines`;
  return [title, ...facts.map(([name = '', said]) => `  ${name.padEnd(16)}${said}`)].join('\n');
}

function toReplaced({ importId, lines, sums }: ReplacedImport): string {
  const said = toSums(sums).map(([name, sum]) => `${name} ${sum}`);
  return `${toNumber(lines)} of import ${importId}: ${said.join(', ')}`;
}

/** Leaves out what was not counted, because that is not the same as a count of none. */
function toSums({ seconds, tasks, labels }: Counts): [string, string][] {
  const sums: [string, number | null][] = [
    ['totalSeconds', seconds],
    ['tasksCompleted', tasks],
    ['labelsCompleted', labels],
  ];
  return sums.flatMap(([name, sum]) => (sum === null ? [] : [[name, toNumber(sum)]]));
}

function toNumber(count: number): string {
  return count.toLocaleString('en');
}

function toImportsTable(imports: readonly ListedImport[]): string {
  return formatList(imports, columns, 'Nothing was imported.');
}

const columns: Columns<ListedImport> = [
  ['id', ({ id }) => id, 'right'],
  ['install', ({ install }) => install],
  ['state', ({ state }) => state],
  ['lines', ({ lines }) => lines, 'right'],
  ['people', ({ people }) => people, 'right'],
  ['days', ({ firstDay, lastDay }) => `${firstDay} to ${lastDay}`],
  ['counts since', ({ countedAt }) => countedAt],
  ['by', ({ actor }) => actor],
  ['file', ({ fileName }) => fileName],
];
