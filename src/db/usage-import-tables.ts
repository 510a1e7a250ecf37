import type { Generated } from 'kysely';

/** Tables of `tables.ts` that are about work imported from files. */

/**
 * `staging` and `dropped` do not count; `dropped` waits to be deleted. `counted` counts unless a later
 * import has the same day. `undone` does not count any more.
 */
export type ImportState = 'staging' | 'dropped' | 'counted' | 'undone';

export interface UsageImportTable {
  id: Generated<number>;
  install: string;
  state: ImportState;
  /** The name of the file without its folder. */
  fileName: string;
  actor: string;
  /** If it is still staging by then, the process has died. */
  keptUntil: string;
  /** When it began to count. Of two imports with the same day, the later one counts. */
  countedAt: string | null;
  undoneAt: string | null;
  lines: Generated<number>;
  people: number | null;
  firstDay: string | null;
  lastDay: string | null;
}

/** One line of a file: who, where and how much, only by ids. */
export interface UsageImportEntryTable {
  importId: number;
  line: number;
  day: string;
  workedOnBy: 'contract' | 'project';
  workedOnId: string;
  trainerId: string;
  seconds: number | null;
  tasks: number | null;
  labels: number | null;
}
