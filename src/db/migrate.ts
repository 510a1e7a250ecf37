import { type Migration, type MigrationResult, Migrator } from 'kysely/migration';
import { up as createInbox } from '../../migrations/0001-inbox.ts';
import { up as createEvidence } from '../../migrations/0002-evidence.ts';
import { up as createMembership } from '../../migrations/0003-membership.ts';
import { up as createRemovals } from '../../migrations/0004-removals.ts';
import { up as createPrivacy } from '../../migrations/0005-privacy.ts';
import { up as createRun } from '../../migrations/0006-run.ts';
import { up as createDrift } from '../../migrations/0007-drift.ts';
import { up as createInstalls } from '../../migrations/0008-installs.ts';
import { up as createInvitations } from '../../migrations/0009-invitations.ts';
import { up as createUsage } from '../../migrations/0010-usage.ts';
import { up as createUsageImport } from '../../migrations/0011-usage-import.ts';
import { up as createBudget } from '../../migrations/0012-budget.ts';
import { up as createNotify } from '../../migrations/0013-notify.ts';
import { up as createUsageInstants } from '../../migrations/0014-usage-instants.ts';
import { up as createUsageReport } from '../../migrations/0015-usage-report.ts';
import { up as createIdentity } from '../../migrations/0016-identity.ts';
import { up as createStorage } from '../../migrations/0017-storage.ts';
import { up as createTurns } from '../../migrations/0018-turns.ts';
import { up as createResets } from '../../migrations/0019-resets.ts';
import { up as bindAccountIds } from '../../migrations/0020-account-ids.ts';
import { up as createAssignments } from '../../migrations/0021-assignments.ts';
import { up as createPaidWork } from '../../migrations/0022-paid-work.ts';
import { up as createOperation } from '../../migrations/0024-operation.ts';
import { up as awaitReadings } from '../../migrations/0025-awaited-readings.ts';
import { up as addPositiveEvidence } from '../../migrations/0026-positive-evidence.ts';
import { up as createBindings } from '../../migrations/0027-bindings.ts';
import { up as createCalls } from '../../migrations/0028-calls.ts';
import { AppError } from '../domain/errors.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { readSetting, writeSetting } from './setting-store.ts';

/** Append-only. A released name is never changed or removed. */
const migrations: Record<string, Migration> = {
  '0001-inbox': { up: createInbox },
  '0002-evidence': { up: createEvidence },
  '0003-membership': { up: createMembership },
  '0004-removals': { up: createRemovals },
  '0005-privacy': { up: createPrivacy },
  '0006-run': { up: createRun },
  '0007-drift': { up: createDrift },
  '0008-installs': { up: createInstalls },
  '0009-invitations': { up: createInvitations },
  '0010-usage': { up: createUsage },
  '0011-usage-import': { up: createUsageImport },
  '0012-budget': { up: createBudget },
  '0013-notify': { up: createNotify },
  '0014-usage-instants': { up: createUsageInstants },
  '0015-usage-report': { up: createUsageReport },
  '0016-identity': { up: createIdentity },
  '0017-storage': { up: createStorage },
  '0018-turns': { up: createTurns },
  '0019-resets': { up: createResets },
  '0020-account-ids': { up: bindAccountIds },
  '0021-assignments': { up: createAssignments },
  '0022-paid-work': { up: createPaidWork },
  '0024-operation': { up: createOperation },
  '0025-awaited-readings': { up: awaitReadings },
  '0026-positive-evidence': { up: addPositiveEvidence },
  '0027-bindings': { up: createBindings },
  '0028-calls': { up: createCalls },
};

/**
 * The compatibility number of the tables. A migration that older versions cannot work with raises it.
 * Adding a column or a table does not.
 */
const compatibility = 2;

/**
 * Migrates the database to the tables of this version. It may be repeated, and several instances may
 * start at the same time: one migrates, and the others find it done.
 *
 * @returns the names of the migrations that were run
 * @throws AppError `conflict` if a newer version has made the database unreadable for this one
 */
export async function migrate(database: Database): Promise<string[]> {
  // On PostgreSQL Kysely locks by itself. On SQLite a transaction around everything locks.
  const executed =
    database.dialect === 'postgres'
      ? await runMigrations(database.kysely)
      : await inTransaction(database, runMigrations, { patienceMs: 60_000 });
  await checkCompatibility(database);
  return executed;
}

/** The names of the migrations that this version would run. Changes nothing. */
export async function listPending(db: Transaction): Promise<string[]> {
  const provider = { getMigrations: async () => migrations };
  const known = await new Migrator({ db, provider }).getMigrations();
  return known.flatMap(({ name, executedAt }) => (executedAt === undefined ? [name] : []));
}

async function runMigrations(db: Database['kysely']): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  // Kysely refuses a database in which a newer version has run migrations that this one does not know.
  // Whether that matters is decided by `compatibility`.
  const known = await migrator.getMigrations();
  if (known.every((migration) => migration.executedAt !== undefined)) return [];
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const name = results.find((result) => result.status === 'Error')?.migrationName ?? 'unknown';
    throw new AppError('internal', `Migration ${name} failed`, { cause: error });
  }
  return results.map((result: MigrationResult) => result.migrationName);
}

async function checkCompatibility(database: Database): Promise<void> {
  await inTransaction(database, async (tx) => {
    const stored = await refuseNewer(tx);
    if (stored < compatibility) await writeSetting(tx, 'compatibility', String(compatibility));
  });
}

/**
 * Changes nothing.
 *
 * @returns the compatibility number of the version that wrote last; 0 for a new database
 * @throws AppError `conflict` if a newer version has made the database unreadable for this one
 */
export async function refuseNewer(tx: Transaction): Promise<number> {
  const stored = Number((await readSetting(tx, 'compatibility')) ?? 0);
  if (stored <= compatibility) return stored;
  throw new AppError(
    'conflict',
    'This database was written by a newer version of Gangway: start that version, or restore a backup from before the upgrade',
  );
}
