import { sql } from 'kysely';
import { type Migration, type MigrationResult, Migrator } from 'kysely/migration';
import { up as createInbox } from '../../migrations/0001-inbox.ts';
import { up as createInstalls } from '../../migrations/0002-installs.ts';
import { up as createEvidence } from '../../migrations/0003-evidence.ts';
import { up as createPrivacy } from '../../migrations/0004-privacy.ts';
import { up as createMemberships } from '../../migrations/0005-memberships.ts';
import { up as createConverge } from '../../migrations/0006-converge.ts';
import { up as createRemovals } from '../../migrations/0007-removals.ts';
import { up as createReconcile } from '../../migrations/0008-reconcile.ts';
import { up as createUsage } from '../../migrations/0009-usage.ts';
import { up as createUsageImport } from '../../migrations/0010-usage-import.ts';
import { up as createBudget } from '../../migrations/0011-budget.ts';
import { up as createNotify } from '../../migrations/0012-notify.ts';
import { up as createOperation } from '../../migrations/0013-operation.ts';
import { up as addWaiting } from '../../migrations/0014-waiting.ts';
import { up as addAuditOrigin } from '../../migrations/0015-audit-origin.ts';
import { up as addDeliverySubject } from '../../migrations/0016-delivery-subject.ts';
import { up as addMetAfter } from '../../migrations/0017-met-after.ts';
import { up as addIdempotency } from '../../migrations/0018-idempotency.ts';
import { up as createAlerts } from '../../migrations/0019-alert.ts';
import { up as addTraceContext } from '../../migrations/0020-trace-context.ts';
import { up as createDrift } from '../../migrations/0021-drift.ts';
import { up as createUsageDifference } from '../../migrations/0022-usage-difference.ts';
import { up as createMissedEvent } from '../../migrations/0023-missed-event.ts';
import { up as createJournal } from '../../migrations/0024-journal.ts';
import { up as addDeliveryFilters } from '../../migrations/0025-delivery-filters.ts';
import { up as addCounted } from '../../migrations/0026-counted.ts';
import { up as addEmployer } from '../../migrations/0027-employer.ts';
import { up as addConnectedSource } from '../../migrations/0028-connected-source.ts';
import { up as createReplacedToken } from '../../migrations/0029-replaced-token.ts';
import { up as createFeed } from '../../migrations/0030-feed.ts';
import { up as createGuidelines } from '../../migrations/0031-guidelines.ts';
import { up as createPayments } from '../../migrations/0032-payments.ts';
import { up as addListsWaited } from '../../migrations/0034-lists-waited.ts';
import { up as indexReasons } from '../../migrations/0035-reasons-of-contract.ts';
import { up as addReleasedBy } from '../../migrations/0036-released-by.ts';
import { up as takeTurns } from '../../migrations/0037-turns-of-readings.ts';
import { up as addFeedFailingSince } from '../../migrations/0038-feed-failing-since.ts';
import { AppError } from '../domain/errors.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { readSetting, writeSetting } from './setting-store.ts';
import { writeStatistics } from './sqlite-statistics.ts';

/** Append-only. A released name is never changed or removed. */
const migrations: Record<string, Migration> = {
  '0001-inbox': { up: createInbox },
  '0002-installs': { up: createInstalls },
  '0003-evidence': { up: createEvidence },
  '0004-privacy': { up: createPrivacy },
  '0005-memberships': { up: createMemberships },
  '0006-converge': { up: createConverge },
  '0007-removals': { up: createRemovals },
  '0008-reconcile': { up: createReconcile },
  '0009-usage': { up: createUsage },
  '0010-usage-import': { up: createUsageImport },
  '0011-budget': { up: createBudget },
  '0012-notify': { up: createNotify },
  '0013-operation': { up: createOperation },
  '0014-waiting': { up: addWaiting },
  '0015-audit-origin': { up: addAuditOrigin },
  '0016-delivery-subject': { up: addDeliverySubject },
  '0017-met-after': { up: addMetAfter },
  '0018-idempotency': { up: addIdempotency },
  '0019-alert': { up: createAlerts },
  '0020-trace-context': { up: addTraceContext },
  '0021-drift': { up: createDrift },
  '0022-usage-difference': { up: createUsageDifference },
  '0023-missed-event': { up: createMissedEvent },
  '0024-journal': { up: createJournal },
  '0025-delivery-filters': { up: addDeliveryFilters },
  '0026-counted': { up: addCounted },
  '0027-employer': { up: addEmployer },
  '0028-connected-source': { up: addConnectedSource },
  '0029-replaced-token': { up: createReplacedToken },
  '0030-feed': { up: createFeed },
  '0031-guidelines': { up: createGuidelines },
  '0032-payments': { up: createPayments },
  '0034-lists-waited': { up: addListsWaited },
  '0035-reasons-of-contract': { up: indexReasons },
  '0036-released-by': { up: addReleasedBy },
  '0037-turns-of-readings': { up: takeTurns },
  '0038-feed-failing-since': { up: addFeedFailingSince },
};

/**
 * The compatibility number of the tables. A migration that older versions cannot work with raises it.
 * Adding a column or a table does not.
 */
const compatibility = 1;

/**
 * Migrates the database to the tables of this version. It may be repeated, and several instances may
 * start at the same time: one migrates, and the others find it done.
 *
 * @returns the names of the migrations that were run
 * @throws AppError `conflict` if a newer version has made the database unreadable for this one
 */
export async function migrate(database: Database): Promise<string[]> {
  const run = (db: Transaction) => runMigrations(database, db);
  // On PostgreSQL Kysely locks by itself. On SQLite a transaction around everything locks.
  const executed =
    database.dialect === 'postgres'
      ? await run(database.kysely)
      : await inTransaction(database, run, { patienceMs: 60_000 });
  await inTransaction(database, async (tx) => {
    await checkCompatibility(tx);
    if (database.dialect === 'sqlite') await writeStatistics(tx);
  });
  return executed;
}

/**
 * The names of the migrations that this version would run. Changes nothing. Kysely can tell as well, but it looks at
 * every column of every table to find its own, and each command begins by this.
 */
export async function listPending(dialect: Database['dialect'], db: Transaction): Promise<string[]> {
  const names = Object.keys(migrations);
  const { rows: found } = await findTable[dialect].execute(db);
  if (found.length === 0) return names;
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  const executed = new Set(rows.map(({ name }) => name));
  return names.filter((name) => !executed.has(name));
}

const findTable = {
  sqlite: sql`select name from sqlite_master where name = 'kysely_migration'`,
  postgres: sql`select oid from pg_class where oid = to_regclass('kysely_migration')`,
};

async function runMigrations({ dialect }: Database, db: Transaction): Promise<string[]> {
  // Kysely refuses a database in which a newer version has run migrations that this one does not know.
  // Whether that matters is decided by `compatibility`.
  if ((await listPending(dialect, db)).length === 0) return [];
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const name = results.find((result) => result.status === 'Error')?.migrationName ?? 'unknown';
    throw new AppError('internal', `Migration ${name} failed`, { cause: error });
  }
  return results.map((result: MigrationResult) => result.migrationName);
}

async function checkCompatibility(tx: Transaction): Promise<void> {
  const stored = await refuseNewer(tx);
  if (stored < compatibility) await writeSetting(tx, 'compatibility', String(compatibility));
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
