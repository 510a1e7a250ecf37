import { inTransaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Day } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { chunksOf } from '../../lib/chunks.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';
import { type Line, readLines } from '../../lib/read-lines.ts';
import {
  describeUnknownColumn,
  type ImportEntry,
  type ImportFormat,
  importColumns,
  type LineValues,
  type ReadEntry,
  type ReadValues,
  toImportColumn,
} from './entry.ts';
import { type KnownPeople, loadKnownPeople } from './known-people-store.ts';
import { parseEntry } from './parse-entry.ts';
import { type ImportPreview, type Progress, previewImport } from './preview-import.ts';
import { createCsvReader } from './read-csv-line.ts';
import {
  addStagedLines,
  beginStaging,
  dropStaging,
  type NewImport,
  type StagedLine,
  stagedLineLike,
} from './staging-store.ts';

export interface ImportFile extends Pick<NewImport, 'install' | 'fileName' | 'actor'> {
  format: ImportFormat;
  chunks: AsyncIterable<Buffer>;
}

export interface LineFault {
  line: number;
  fault: string;
}

/** `faults` are the first of `faultCount`, in the order of their lines. */
export type Staged =
  | { outcome: 'staged'; id: number; preview: ImportPreview }
  | { outcome: 'faulty'; faults: LineFault[]; faultCount: number };

/** So few lines that adding them stays well under 50 ms. */
const chunkLines = 500;
const maxFaults = 100;
/** Leaves an operator time to decide whether the import is to count. */
const keptMs = 3_600_000;

/**
 * Reads a file to its end and stages its lines; nothing of it counts yet. A file with a fault in any line is given
 * up, and so is one that breaks off; its staged lines are cleared later.
 *
 * @throws AppError `conflict` where it took so long that another process gave it up; any error of the chunks
 */
export async function stageImport(ctx: Storage, clock: Clock, file: ImportFile, progress: Progress): Promise<Staged> {
  const { database } = ctx;
  const { install, fileName, actor } = file;
  const begun = { install, fileName, actor, keptUntil: instantIn(clock, keptMs) };
  const id = await inTransaction(database, (tx) => beginStaging(tx, begun));
  try {
    const { faults, faultCount, lines, lastLine } = await stageLines(ctx, clock, id, file, progress);
    if (faultCount === 0) {
      const preview = await previewImport(ctx, id, lines, lastLine, progress);
      return { outcome: 'staged', id, preview };
    }
    await inTransaction(database, (tx) => dropStaging(tx, id));
    return { outcome: 'faulty', faults, faultCount };
  } catch (error) {
    // If this fails too, the import is given up when its time is over.
    await inTransaction(database, (tx) => dropStaging(tx, id)).catch(() => undefined);
    throw error;
  }
}

async function stageLines(ctx: Storage, clock: Clock, id: number, file: ImportFile, progress: Progress) {
  const today = toInstant(clock.now()).slice(0, 10);
  const faults: LineFault[] = [];
  let [faultCount, lines, lastLine] = [0, 0, 0];
  for await (const chunk of inChunks(readEntries(file.chunks, file.format, today))) {
    progress.signal.throwIfAborted();
    const found = await stageChunk(ctx, id, file.install, instantIn(clock, keptMs), chunk);
    faults.push(...found.slice(0, maxFaults - faults.length));
    faultCount += found.length;
    lines += chunk.length;
    lastLine = chunk.at(-1)?.line ?? lastLine;
    progress.onProgress(`${lastLine} lines read, ${faultCount} of them wrong`);
  }
  if (lines === 0) {
    faults.push({ line: 1, fault: 'nothing in the file says what was done' });
    faultCount = 1;
  }
  return { faults, faultCount, lines, lastLine };
}

/** @returns the faults, in the order of their lines */
async function stageChunk(
  ctx: Storage,
  id: number,
  install: string,
  keptUntil: string,
  chunk: readonly ReadEntry[],
): Promise<LineFault[]> {
  const entries = chunk.flatMap((read) => ('entry' in read ? [read.entry] : []));
  const known = await loadKnownPeople(ctx, install, entries);
  const resolved = chunk.map((read) => {
    const { line } = read;
    if ('fault' in read) return read;
    const { day, workedOn, counts } = read.entry;
    const who = resolveEntry(read.entry, known);
    if ('fault' in who) return { line, fault: who.fault };
    return { line, day, workedOnBy: workedOn.by, workedOnId: workedOn.id, ...who, ...counts };
  });
  const lines = resolved.filter((one): one is StagedLine => !('fault' in one));
  const added = await inTransaction(ctx.database, (tx) => addStagedLines(ctx, tx, id, lines, keptUntil));
  if (added === 'given_up') {
    throw new AppError('conflict', 'The import took too long and was given up: begin it again');
  }
  const faults: LineFault[] = [];
  for (const one of resolved) {
    if ('fault' in one) faults.push(one);
    else if (!added.has(one.line)) {
      const first = await stagedLineLike(ctx, id, one);
      faults.push({ line: one.line, fault: `is of the same person and day as line ${first}` });
    }
  }
  return faults;
}

/** So few lines that a transaction stays short. */
async function* inChunks<T>(lists: AsyncIterable<T[]>): AsyncGenerator<T[]> {
  for await (const list of lists) yield* chunksOf(list, chunkLines);
}

/** Whose work an entry is, by the evidence, or why that is not known. Pure. */
function resolveEntry(
  { workedOn, person }: ImportEntry,
  known: KnownPeople,
): { trainerId: string } | { fault: string } {
  const { by, id } = workedOn;
  if (by === 'project' && !known.projects.has(id)) return { fault: 'there is no such project' };
  const contract = by === 'contract' ? known.contracts.get(id) : undefined;
  if (by === 'contract' && contract === undefined) return { fault: 'there is no such contract' };
  if (person === null) return onlyOneOf(contract);

  const isThere = (trainerId: string) =>
    by === 'contract' ? known.isOnContract(id, trainerId) : known.isOnProject(id, trainerId);
  if ('trainerId' in person) {
    const { trainerId } = person;
    return isThere(trainerId) ? { trainerId } : { fault: `opentrainUserId is not on the ${by}` };
  }
  const trainers = known.trainersAt(person.workEmail);
  if (trainers.length === 0) return { fault: 'no trainer is known by this workEmail' };
  const [trainerId, another] = trainers.filter(isThere);
  if (trainerId === undefined) return { fault: `the trainer with this workEmail is not on the ${by}` };
  if (another === undefined) return { trainerId };
  return { fault: `several trainers on the ${by} have this workEmail: name one by opentrainUserId` };
}

function onlyOneOf(
  contract: { people: number; only: string | null } | undefined,
): { trainerId: string } | { fault: string } {
  if (contract !== undefined && contract.only !== null) return { trainerId: contract.only };
  if ((contract?.people ?? 0) === 0) return { fault: 'no trainer is known to be on the contract' };
  return { fault: 'several trainers are on the contract: name one by opentrainUserId' };
}

const maxLineBytes = 16 * 1024;

/**
 * Reads a file as it comes in, some lines at a time: what each line says, or its fault. Empty lines are skipped.
 * After a bad CSV header nothing else is read.
 */
export async function* readEntries(
  chunks: AsyncIterable<Buffer>,
  format: ImportFormat,
  today: Day,
): AsyncGenerator<ReadEntry[]> {
  const readLine = format === 'csv' ? createCsvReader() : readJsonLine;
  for await (const lines of readLines(chunks, maxLineBytes)) {
    const entries: ReadEntry[] = [];
    for (const line of lines) {
      const read = readLine(line);
      if (read === 'nothing') continue;
      if ('badHeader' in read) return yield [{ line: line.number, fault: read.badHeader }];
      entries.push(toEntry(line.number, read, today));
    }
    yield entries;
  }
}

function toEntry(line: number, read: { values: LineValues } | { fault: string }, today: Day): ReadEntry {
  const entry = 'values' in read ? parseEntry(read.values, today) : read;
  return 'fault' in entry ? { line, fault: entry.fault } : { line, entry };
}

/** One line of NDJSON: an object, in which null means absent. */
function readJsonLine(line: Line): ReadValues {
  if ('fault' in line) return line;
  if (line.text.trim() === '') return 'nothing';
  const json = tryParse(line.text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { fault: 'is no JSON object' };
  }
  const values: LineValues = {};
  for (const [name, value] of Object.entries(json)) {
    const column = toImportColumn(name);
    if (column === undefined) {
      return { fault: `${describeUnknownColumn(name)} is none of ${importColumns.join(', ')}` };
    }
    if (value !== null) values[column] = value;
  }
  return { values };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
