import type { Generated } from 'kysely';

/** Tables of `tables.ts` that are about work imported from files. */

/**
 * `staging` counts for nothing, and `dropped` waits to be cleared; `counted` counts as far as no
 * later one has the same day, and `undone` no more.
 */
export type ImportState = 'staging' | 'dropped' | 'counted' | 'undone';

export interface UsageImportTable {
  id: Generated<number>;
  install: string;
  state: ImportState;
  /** The name of the file, without the way to it. */
  fileName: string;
  actor: string;
  /** What is still being staged by then was given up. */
  keptUntil: string;
  /** When it began to count: of two with the same day, the later one does. */
  countedAt: string | null;
  undoneAt: string | null;
  lines: Generated<number>;
  people: number | null;
  firstDay: string | null;
  lastDay: string | null;
}

/** One line of a file: who, where and how much, by ids alone. */
export interface UsageImportEntryTable {
  importId: number;
  line: number;
  day: string;
  placeBy: 'contract' | 'project';
  placeId: string;
  trainerId: string;
  seconds: number | null;
  tasks: number | null;
  labels: number | null;
}
