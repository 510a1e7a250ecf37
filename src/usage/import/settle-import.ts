import { inTransaction, type Transaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { findImport, type ListedImport, markImportCounted, markImportUndone } from './import-store.ts';

export interface SettleDeps extends Storage {
  clock: Clock;
  /** Writes the operator's decision into the audit, in the same transaction. */
  note(tx: Transaction, action: string, subject: string): Promise<void>;
}

/**
 * Lets a staged import count, whole and at once.
 *
 * @throws AppError `conflict` where it was given up meanwhile
 */
export async function countImport(deps: SettleDeps, id: number): Promise<void> {
  const { database, clock, note } = deps;
  await inTransaction(
    database,
    async (tx) => {
      if (!(await markImportCounted(tx, id, toInstant(clock.now())))) {
        throw new AppError('conflict', 'The import waited too long and was given up: begin again');
      }
      await note(tx, 'usage import', `import ${id}`);
    },
    { isDurable: true },
  );
}

/** @throws AppError `not_found` where it never counted, `conflict` where it is already undone */
export async function findUndoable(ctx: Storage, id: number): Promise<ListedImport> {
  const found = await findImport(ctx.database.kysely, id);
  if (found === undefined) throw new AppError('not_found', `There is no import ${id}`);
  if (found.state === 'counted') return found;
  throw new AppError('conflict', `The import ${id} is undone already`);
}

/**
 * Undoes an import: what it replaced counts again.
 *
 * @throws AppError as `findUndoable` does
 */
export async function undoImport(deps: SettleDeps, id: number): Promise<void> {
  const { database, clock, note } = deps;
  await findUndoable(deps, id);
  await inTransaction(
    database,
    async (tx) => {
      if (!(await markImportUndone(tx, id, toInstant(clock.now())))) {
        throw new AppError('conflict', `The import ${id} is undone already`);
      }
      await note(tx, 'usage import --undo', `import ${id}`);
    },
    { isDurable: true },
  );
}
