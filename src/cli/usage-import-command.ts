import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { openHeapClearing } from '../lib/small-heap.ts';
import { sayCount, stripControl } from '../lib/text.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { changeColumns, countColumns } from '../operations/usage-values.ts';
import { clearImports, countImport, type ImportPreview, prepareImport } from '../usage/import/import-file.ts';
import { dropImport } from '../usage/import/import-store.ts';
import { lineOutcomes, type PreviewedLine } from '../usage/import/preview-import.ts';
import { type ImportFormat, toTemplate } from '../usage/import/read-entries.ts';
import { askYesNo } from './ask.ts';
import type { importArguments, importOptions } from './commands/inputs.ts';
import type { Printed } from './define-command.ts';
import { listInstallsOf, pickInstall } from './operation-commands.ts';
import type { GivenOf } from './options.ts';
import { type RemoteSession, type ServicesSession, type Terminal, withProgress } from './session.ts';
import { decidedBy } from './with-storage.ts';

type ImportOptions = GivenOf<typeof importArguments & typeof importOptions>;

/** `gangway usage import`: work from a file, for tools that cannot be asked. */
export async function runUsageImport(options: ImportOptions, session: ServicesSession): Promise<Printed> {
  const install = pickInstall(session, [...session.services.installs.keys()], options.install);
  return await importFile(session, install, options.file, options);
}

function formatOf(file: string): ImportFormat {
  return path.extname(file).toLowerCase() === '.csv' ? 'csv' : 'ndjson';
}

const shownLines = 50;

async function importFile(
  { terminal, services }: ServicesSession,
  install: string,
  file: string,
  options: ImportOptions,
): Promise<Printed> {
  const { signal } = terminal;
  const handle = await open(file).catch((error) => refuseFile(file, error));
  try {
    const about = { install, fileName: maskText(path.basename(file)) };
    const chunks = handle.createReadStream() as AsyncIterable<Buffer>;
    const read = { ...about, actor: decidedBy().actor, format: formatOf(file), chunks };
    const listAtMost = options.json ? undefined : shownLines;
    const { id, preview } = await withProgress(terminal, (onProgress) =>
      prepareImport(services, read, { signal, onProgress: clearingNowAndThen(onProgress) }, listAtMost),
    );
    return await confirmImport(terminal, { ...about, preview }, options, async (isMeant) => {
      if (id === null) return null;
      await (isMeant ? countImport(services, decidedBy(), id) : dropImport(services, id));
      return isMeant ? id : null;
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new AppError('unavailable', 'Stopped: nothing was imported', { cause: error });
  } finally {
    await handle.close();
    await withProgress(terminal, (onProgress) => clearImports(services, { signal, onProgress }));
  }
}

function refuseFile(file: string, error: NodeJS.ErrnoException): never {
  throw new AppError('invalid', `Could not open ${file} (${error.code ?? 'unknown'})`, { cause: error });
}

/** The heap is cleared after this many chunks. */
const clearEvery = 40;

/** Otherwise a file of a million lines would take more memory than one of ten thousand. */
function clearingNowAndThen(onProgress: (says: string) => void): (says: string) => void {
  const clearHeap = openHeapClearing();
  let chunks = 0;
  return (says) => {
    chunks += 1;
    if (chunks % clearEvery === 0) clearHeap();
    onProgress(says);
  };
}

interface ReadFile {
  install: string;
  fileName: string;
  preview: ImportPreview;
}

/** @param settle counts or drops the file, and returns the number of the import */
async function confirmImport(
  terminal: Terminal,
  { preview, ...about }: ReadFile,
  { yes, json }: ImportOptions,
  settle: (isMeant: boolean) => Promise<number | null>,
): Promise<Printed> {
  const { refused } = preview.outcomes;
  if (refused.lines > 0) {
    if (!json) terminal.stderr.write(`${toRefusedText(preview)}\n`);
    return { data: { ...about, imported: null, ...preview }, status: 1 };
  }
  if (!json) terminal.stdout.write(`${toPreviewText(about, preview)}\n`);
  const imported = await settle(yes || (await askYesNo(terminal, 'Import this?')));
  return {
    data: { ...about, imported, ...preview },
    text: () =>
      imported === null
        ? 'Nothing was imported: it was not confirmed, and there is no --yes.'
        : toImportedText(imported, preview),
    status: imported === null ? 2 : 0,
  };
}

type Imported = ImportPreview & { install: string; imported: number | null };

/** The same with `--remote`: the whole file is sent, first for a preview. */
export async function askUsageImport(options: ImportOptions, remote: RemoteSession): Promise<Printed> {
  const { file } = options;
  const install = pickInstall(remote, await listInstallsOf(remote), options.install);
  const fileName = maskText(path.basename(file));
  const body = {
    install,
    fileName,
    format: formatOf(file),
    content: await readFile(file, 'utf8').catch((error) => refuseFile(file, error)),
  };
  const send = (dryRun: boolean) => remote.ask<Imported>('POST /usage/imports', { body: { ...body, dryRun } });
  const { install: _, imported: __, ...preview } = await send(true);
  return await confirmImport(remote.terminal, { install, fileName, preview }, options, async (isMeant) =>
    isMeant ? (await send(false)).imported : null,
  );
}

/** `gangway usage template`: a file to start from. */
export function runUsageTemplate({ ndjson }: { ndjson: boolean }): Printed {
  const format = ndjson ? 'ndjson' : 'csv';
  const template = toTemplate(format);
  return { data: { format, template }, text: () => template };
}

function toRefusedText({ listed, outcomes: { refused } }: ImportPreview): string {
  const shown = listed.slice(0, shownLines).map(({ line, reason }) => `line ${line}: ${reason}`);
  const wrong = sayCount(refused.lines, 'line is', 'lines are');
  return [...shown, ...andMore(refused.lines), `Nothing was imported: ${wrong} wrong.`].join('\n');
}

function toPreviewText(about: { install: string; fileName: string }, preview: ImportPreview): string {
  const { lines, people, firstDay, lastDay, listed, outcomes } = preview;
  const sums = lineOutcomes.flatMap((outcome) =>
    outcomes[outcome].lines === 0 ? [] : [{ outcome, ...outcomes[outcome] }],
  );
  const of = `${sayCount(lines, 'line')} of ${sayCount(people, 'person', 'people')}`;
  return [
    `${about.install}, ${stripControl(about.fileName)}: ${of}, ${firstDay} to ${lastDay}`,
    formatList(listed.slice(0, shownLines), lineColumns, ''),
    ...andMore(lines),
    '',
    formatList(sums, sumColumns, ''),
  ].join('\n');
}

function andMore(lines: number): string[] {
  return lines > shownLines ? [`and ${lines - shownLines} more`] : [];
}

const lineColumns: Columns<PreviewedLine> = [
  ['line', ({ line }) => line, { align: 'right' }],
  ['day', ({ day }) => day],
  ['trainer', ({ trainerId }) => trainerId],
  ['', ({ outcome }) => outcome],
  ['contract', ({ contractId }) => contractId],
  ...changeColumns<PreviewedLine>(
    ({ from }) => from,
    ({ to }) => to,
  ),
  ['because', ({ reason }) => reason],
];

type OutcomeRow = { outcome: string } & ImportPreview['outcomes']['sent'];

const sumColumns: Columns<OutcomeRow> = [
  ['', ({ outcome }) => outcome],
  ['lines', ({ lines }) => lines, { align: 'right' }],
  ...countColumns<OutcomeRow>(({ counts }, name) => toDifference(counts[name])),
];

function toImportedText(id: number, { outcomes: { sent, held } }: ImportPreview): string {
  return [
    `Imported as ${id}.`,
    ...(sent.lines > 0 ? ['What is sent goes out with the next report.'] : []),
    ...(held.lines > 0 ? ['"gangway usage held" lists what is held, to be decided.'] : []),
    `"gangway usage undo ${id} --yes" takes it back.`,
  ].join(' ');
}

/** The difference of a count. Null is not zero. */
function toDifference(count: number | null): string {
  return count === null ? '' : count.toLocaleString('en', { signDisplay: 'exceptZero' });
}
