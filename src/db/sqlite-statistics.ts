import { sql } from 'kysely';
import type { Transaction } from './database.ts';

/**
 * What SQLite's planner assumes about the tables that grow. Without these numbers it prefers an index by tool or by install:
 * in a database with 50,000 memberships, one more start of a contract took 280 ms of processor time instead of 13. With
 * `ANALYZE`, plans would depend on when a database was last counted, and a new database has nothing to count. So these are
 * the numbers of a large installation (https://www.sqlite.org/lang_analyze.html, "Fixed results of ANALYZE").
 *
 * The numbers of an index: its rows, then how many have the same first column, the same first two columns, and so on.
 */
export const statistics: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  membership: {
    membership_by_state: '100000 2000 1000 13 1 1',
    membership_to_remove: '100 10 1',
    membership_due: '1000 500 100 1',
    membership_by_account: '90000 45000 1',
    membership_by_install: '100000 10000 1250',
    membership_by_group: '100000 50000 100',
    membership_by_seat: '100000 2 2 1',
    membership_undecided: '1000 300 200',
  },
  membership_address: {
    membership_address_by_digest: '120000 2',
    membership_address_by_membership: '120000 2',
  },
  contract: { sqlite_autoindex_contract_1: '200000 20000 1' },
  contract_link: {
    contract_link_by_link: '200000 20000 200',
    sqlite_autoindex_contract_link_1: '200000 20000 1 1',
  },
  participation: {
    participation_of_trainer: '200000 2 2',
    sqlite_autoindex_participation_1: '200000 20000 1 1',
  },
  person: {
    person_by_address: '100000 2',
    person_by_trainer: '100000 1',
    sqlite_autoindex_person_1: '100000 10000 1',
  },
  link: { link_by_project: '1000 100 1', sqlite_autoindex_link_1: '1000 100 1' },
  reason: { reason_of_contract: '150000 15000 1', sqlite_autoindex_reason_1: '150000 2 1 1 1' },
  receipt: { receipt_by_membership: '300000 3' },
  intent: { intent_by_membership: '300000 3' },
  removal: { removal_by_install: '100000 10000 1' },
  awaited_reading: { awaited_reading_unreported: '100 1', sqlite_autoindex_awaited_reading_1: '100000 1' },
  awaited_scope: { sqlite_autoindex_awaited_scope_1: '100000 2 1 1' },
};

const wanted = Object.entries(statistics).flatMap(([tbl, indexes]) =>
  Object.entries(indexes).map(([idx, stat]) => ({ tbl, idx, stat })),
);

/** Writes the statistics if others are stored. Connections that open the database later use them too. */
export async function writeStatistics(tx: Transaction): Promise<void> {
  if (await areWritten(tx)) return;
  // Creates the tables of the statistics and counts nothing.
  await sql`analyze sqlite_schema`.execute(tx);
  await sql`delete from sqlite_stat1`.execute(tx);
  await sql`delete from sqlite_stat4`.execute(tx);
  const rows = wanted.map(({ tbl, idx, stat }) => sql`(${tbl}, ${idx}, ${stat})`);
  await sql`insert into sqlite_stat1 (tbl, idx, stat) values ${sql.join(rows)}`.execute(tx);
  // Makes this connection read them again.
  await sql`analyze sqlite_schema`.execute(tx);
}

async function areWritten(tx: Transaction): Promise<boolean> {
  const { rows: tables } = await sql`select name from sqlite_schema where name = 'sqlite_stat1'`.execute(tx);
  if (tables.length === 0) return false;
  const { rows } = await sql<{ name: string }>`
    select tbl || ' ' || idx || ' ' || stat as name from sqlite_stat1`.execute(tx);
  const written = new Set(rows.map(({ name }) => name));
  return written.size === wanted.length && wanted.every(({ tbl, idx, stat }) => written.has(`${tbl} ${idx} ${stat}`));
}
