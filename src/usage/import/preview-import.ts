import { inTransaction } from '../../db/database.ts';
import type { Counts } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import {
  type ImportSummary,
  keepStagingSummary,
  type ReplacedImport,
  replacedByStaging,
  summariseStaging,
} from './staging-store.ts';

/** What would count, and what would no longer count. */
export interface ImportPreview extends ImportSummary {
  lines: number;
  /** By the earlier import. */
  replaces: ReplacedImport[];
}

/** How a long import is followed, and stopped. */
export interface Progress {
  signal: AbortSignal;
  onProgress(says: string): void;
}

const pageLines = 5000;

/** Page by page, so that no query takes long however many lines there are. */
export async function previewImport(
  ctx: Storage,
  id: number,
  lines: number,
  lastLine: number,
  { signal, onProgress }: Progress,
): Promise<ImportPreview> {
  const summary = await summariseStaging(ctx, id);
  await inTransaction(ctx.database, (tx) => keepStagingSummary(tx, id, lines, summary));
  const replaced = new Map<number, ReplacedImport>();
  for (let from = 1; from <= lastLine; from += pageLines) {
    signal.throwIfAborted();
    for (const one of await replacedByStaging(ctx, id, from, from + pageLines - 1)) {
      replaced.set(one.importId, addUp(replaced.get(one.importId), one));
    }
    onProgress(`${from} of ${lastLine} lines compared with earlier imports`);
  }
  const replaces = [...replaced.values()].sort((one, other) => one.importId - other.importId);
  return { lines, ...summary, replaces };
}

function addUp(before: ReplacedImport | undefined, more: ReplacedImport): ReplacedImport {
  if (before === undefined) return more;
  const { importId, lines, sums } = more;
  return { importId, lines: before.lines + lines, sums: addCounts(before.sums, sums) };
}

function addCounts(one: Counts, other: Counts): Counts {
  return {
    seconds: addCount(one.seconds, other.seconds),
    tasks: addCount(one.tasks, other.tasks),
    labels: addCount(one.labels, other.labels),
  };
}

function addCount(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
