import { type By, writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { findImport, type ListedImport, markImportCounted, markImportUndone } from './import-store.ts';

/**
 * Lets a staged import count, whole and at once.
 *
 * @throws AppError `conflict` where it was given up meanwhile
 */
export async function countImport(ctx: Storage, clock: Clock, by: By, id: number): Promise<void> {
  await inTransaction(
    ctx.database,
    async (tx) => {
      if (!(await markImportCounted(tx, id, toInstant(clock.now())))) {
        throw new AppError('conflict', 'The import waited too long and was given up: begin again');
      }
      await writeAudit(tx, by, 'usage import', `import ${id}`);
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
export async function undoImport(ctx: Storage, clock: Clock, by: By, id: number): Promise<void> {
  await findUndoable(ctx, id);
  await inTransaction(
    ctx.database,
    async (tx) => {
      if (!(await markImportUndone(tx, id, toInstant(clock.now())))) {
        throw new AppError('conflict', `The import ${id} is undone already`);
      }
      await writeAudit(tx, by, 'usage import --undo', `import ${id}`);
    },
    { isDurable: true },
  );
}
