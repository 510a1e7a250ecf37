import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import type { InstallStateStore } from '../reconcile/read/install-state-store.ts';

interface WantReadDeps {
  database: Database;
  installStates: Pick<InstallStateStore, 'wantRead'>;
  by: By;
}

/** Has a running instance read installs completely. What is found is applied, and the brake holds what would be too much. */
export async function wantRead(
  { database, installStates, by }: WantReadDeps,
  installs: readonly string[],
): Promise<void> {
  await inTransaction(database, async (tx) => {
    await installStates.wantRead(tx, [...installs], by.at, 'command');
    await writeAudit(tx, by, 'reconcile', installs.join(', '));
  });
}
