import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { type By, writeAudit } from '../../db/audit-store.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { chunksOf } from '../../lib/lists.ts';
import { markWorkStale } from '../../memberships/derivation-store.ts';
import { refreshDue } from '../due/refresh-due.ts';
import {
  addLines,
  changeImport,
  clearLines,
  createImport,
  dropImport,
  findImport,
  findSameLine,
  type ImportLine,
  type ImportSummary,
  type ListedImport,
  listDismissedDays,
  listDroppedImports,
  listTrainers,
  type NewImport,
  summariseImport,
} from './import-store.ts';
import { loadKnownPeople } from './known-people-store.ts';
import {
  closeTally,
  type LinesPreview,
  openTally,
  type Progress,
  previewLines,
  type Tally,
  tallyLine,
} from './preview-import.ts';
import { type ImportFormat, type ReadEntry, readEntries } from './read-entries.ts';

export interface ImportFile extends Pick<NewImport, 'install' | 'fileName' | 'actor'> {
  format: ImportFormat;
  chunks: AsyncIterable<Buffer>;
}

export interface ImportPreview extends LinesPreview, ImportSummary {}

/** A file whose lines are written, and do not count yet. */
export interface PreparedImport {
  /** Null if a line is refused, so that the file cannot be imported. */
  id: number | null;
  preview: ImportPreview;
}

/** Keeps a transaction well under 50 ms. */
const chunkLines = 500;
/** How long an operator has to confirm an import. */
const keptMs = 3_600_000;

/**
 * Reads a whole file, writes its lines under the id of a new import, and says what will become of each. If a line is
 * refused or the file breaks off, the import is dropped.
 *
 * @param listAtMost how many lines the preview lists
 * @throws AppError `conflict` if it took so long that another process dropped it; any error of the chunks
 */
export async function prepareImport(
  ctx: Context,
  file: ImportFile,
  progress: Progress,
  listAtMost = Number.POSITIVE_INFINITY,
): Promise<PreparedImport> {
  const { install, fileName, actor } = file;
  const id = await createImport(ctx, { install, fileName, actor, keptUntil: instantIn(ctx.clock, keptMs) });
  try {
    const tally = openTally(listAtMost);
    for await (const chunk of readChunks(ctx, file)) {
      progress.signal.throwIfAborted();
      for (const { line, fault } of await writeChunk(ctx, { id, install }, chunk)) refuse(tally, line, fault);
      progress.onProgress(`${chunk.at(-1)?.line} lines read, ${tally.sums.get('refused')?.lines ?? 0} of them wrong`);
    }
    const summary = await summariseImport(ctx.database.kysely, id);
    if (summary.lines === 0 && tally.sums.size === 0) refuse(tally, 1, 'the file has no work in it');
    const isRefused = tally.sums.size > 0;
    if (isRefused) await dropImport(ctx, id);
    else {
      await refreshDue(ctx, progress.signal);
      await previewLines(ctx, { id, install }, tally, progress);
      await inTransaction(ctx.database, (tx) => keepWriting(ctx, tx, id, summary));
    }
    const preview = { ...summary, ...(await closeTally(ctx, install, tally)) };
    return { id: isRefused ? null : id, preview };
  } catch (error) {
    // If this fails too, the import expires.
    await dropImport(ctx, id).catch(() => undefined);
    throw error;
  }
}

function refuse(tally: Tally, line: number, reason: string): void {
  const ofNoWork = { trainerId: null, day: null, contractId: null, from: null, to: null };
  tallyLine(tally, { line, outcome: 'refused', ...ofNoWork, reason });
}

async function* readChunks({ clock }: Context, { chunks, format }: ImportFile): AsyncGenerator<ReadEntry[]> {
  const today = toInstant(clock.now()).slice(0, 10);
  for await (const entries of readEntries(chunks, format, today)) yield* chunksOf(entries, chunkLines);
}

type LineFault = Extract<ReadEntry, { fault: string }>;

/** @returns the faults, in the order of their lines */
async function writeChunk(
  ctx: Context,
  { id, install }: { id: number; install: string },
  chunk: readonly ReadEntry[],
): Promise<LineFault[]> {
  const entries = chunk.flatMap((read) => ('entry' in read ? [read.entry] : []));
  const findTrainer = await loadKnownPeople(ctx, install, entries);
  const lines = chunk.map((read): ImportLine | LineFault => {
    if ('fault' in read) return read;
    const { day, workedOn, counts } = read.entry;
    const found = { line: read.line, ...findTrainer(read.entry) };
    return 'fault' in found ? found : { ...found, day, workedOnBy: workedOn.by, workedOnId: workedOn.id, ...counts };
  });
  const valid = lines.filter((one): one is ImportLine => !('fault' in one));
  const added = await inTransaction(ctx.database, async (tx) => {
    await keepWriting(ctx, tx, id);
    return await addLines(ctx, tx, id, valid);
  });
  const faults: LineFault[] = [];
  for (const one of lines) {
    if ('fault' in one) faults.push(one);
    else if (!added.has(one.line)) {
      const first = await findSameLine(ctx, id, one);
      faults.push({ line: one.line, fault: `has the same person and day as line ${first}` });
    }
  }
  return faults;
}

/** Extends the time of an import. @throws AppError `conflict` if another process has dropped it */
async function keepWriting({ clock }: Context, tx: Transaction, id: number, summary?: ImportSummary): Promise<void> {
  const known = { state: 'writing', keptAt: toInstant(clock.now()) } as const;
  const isKept = await changeImport(tx, id, known, { ...summary, keptUntil: instantIn(clock, keptMs) });
  if (!isKept) throw new AppError('conflict', 'The import took too long and was dropped. Start it again');
}

/** Makes the whole import count at once. @throws AppError `conflict` if it was dropped meanwhile */
export async function countImport(ctx: Context, by: By, id: number): Promise<void> {
  const change = { state: 'counted', countedAt: toInstant(ctx.clock.now()) } as const;
  const stale = await listTrainers(ctx.database.kysely, id);
  await inTransaction(
    ctx.database,
    async (tx) => {
      await keepWriting(ctx, tx, id);
      await changeImport(tx, id, { state: 'writing' }, change);
      await markWorkStale(tx, stale);
      await writeAudit(tx, by, 'usage import', `import ${id}`);
    },
    { isDurable: true },
  );
  await refreshDue(ctx);
}

const mostDaysNamed = 10;

/**
 * @throws AppError `not_found` if it never counted; `conflict` if it is already undone, or if an operator has dismissed
 *   a later change of its days
 */
export async function findUndoable(ctx: Context, id: number): Promise<ListedImport> {
  const found = await findImport(ctx.database.kysely, id);
  if (found === undefined) throw new AppError('not_found', `There is no import ${id}`);
  if (found.state === 'undone') throw alreadyUndone(id);
  await refreshDue(ctx);
  const days = await listDismissedDays(ctx.database.kysely, id, mostDaysNamed + 1);
  if (days.length === 0) return found;
  const named = days.slice(0, mostDaysNamed).join(', ') + (days.length > mostDaysNamed ? ' and more' : '');
  const reason = `because an operator dismissed a later change of ${named}`;
  throw new AppError('conflict', `Import ${id} cannot be undone, ${reason}`);
}

function alreadyUndone(id: number): AppError {
  return new AppError('conflict', `Import ${id} is already undone`);
}

/** What the import replaced counts again, and what only it had becomes zero. @throws AppError as `findUndoable` does */
export async function undoImport(ctx: Context, by: By, id: number): Promise<void> {
  await findUndoable(ctx, id);
  const change = { state: 'undone', undoneAt: toInstant(ctx.clock.now()) } as const;
  const trainers = await listTrainers(ctx.database.kysely, id);
  const stale = trainers.map((one) => ({ ...one, reopens: true }));
  await inTransaction(
    ctx.database,
    async (tx) => {
      if (!(await changeImport(tx, id, { state: 'counted' }, change))) throw alreadyUndone(id);
      await markWorkStale(tx, stale);
      await writeAudit(tx, by, 'usage undo', `import ${id}`);
    },
    { isDurable: true },
  );
  await refreshDue(ctx);
}

/** Lets others write between two chunks. */
const restMs = 2;

/** Clears the lines of dropped and expired imports. If it is stopped, the next call goes on. */
export async function clearImports({ database, clock }: Context, { signal, onProgress }: Progress): Promise<void> {
  for (const id of await listDroppedImports(database, toInstant(clock.now()))) {
    for (let cleared = 0; !signal.aborted; ) {
      const more = await inTransaction(database, (tx) => clearLines(tx, id, chunkLines));
      if (more < chunkLines) break;
      cleared += more;
      onProgress(`${cleared} lines cleared of import ${id}, which does not count`);
      await wait(restMs);
    }
  }
}
