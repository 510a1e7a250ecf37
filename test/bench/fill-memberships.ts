import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { createMadeRows } from './made-rows.ts';

/** Each row is noted in the journal as well, and PostgreSQL ends a statement after 15 seconds. */
const chunk = 50_000;

/**
 * Who is in the tool `studio` by the install `acme`: trainer `usr<n>` by contract `ctr<n>`, in 300 projects. One in ten
 * is out, one in a hundred has failed. What was done for them is spread over a month.
 */
export async function fillMemberships(database: Database, memberships: number, receipts: number): Promise<void> {
  const db = database.kysely;
  const { counter, minutesAgo } = createMadeRows(database);
  await sql`insert into membership
      (tool, group_id, trainer_id, install, wanted, generation, state, is_ours, attempts, updated_at)
    ${counter(memberships)} select 'studio', 'project-' || (n % 300), 'usr' || n, 'acme',
      case when n % 10 = 0 then 0 else 1 end, 1,
      case when n % 100 = 50 then 'failed' when n % 10 = 0 then 'removed' else 'active' end,
      1, 0, ${minutesAgo('n % 40000')} from counter`.execute(db);
  await sql`insert into person (install, trainer_id, display_name)
    ${counter(memberships)} select 'acme', 'usr' || n, 'Trainer ' || n from counter`.execute(db);
  for (let done = 0; done < receipts; done += chunk) {
    await sql`insert into receipt (membership_id, generation, operation, outcome, created_at, met_after_ms)
      ${counter(Math.min(chunk, receipts - done))} select 1 + (${sql.lit(done)} + n) % ${sql.lit(memberships)}, 1, 'add',
        'added', ${minutesAgo(`40000 - (${done} + n) * 40000.0 / ${receipts}`)}, n % 9000 from counter`.execute(db);
  }
}

/** The contracts of those trainers, each on the live link of its project. */
export async function fillContracts(database: Database, contracts: number): Promise<void> {
  const db = database.kysely;
  const { counter } = createMadeRows(database);
  const seenAt = '2026-01-01T00:00:00.000Z';
  await sql`insert into contract (install, contract_id, title, started_event_at)
    ${counter(contracts)} select 'acme', 'ctr' || n, 'Contract ' || n, ${sql.lit(seenAt)} from counter`.execute(db);
  await sql`insert into participation (install, contract_id, trainer_id, seen_at)
    ${counter(contracts)} select 'acme', 'ctr' || n, 'usr' || n, ${sql.lit(seenAt)} from counter`.execute(db);
  await sql`insert into link (install, link_id, seen_at, external_project_id)
    ${counter(300)} select 'acme', 'lnk' || n, ${sql.lit(seenAt)}, 'project-' || (n - 1) from counter`.execute(db);
  await sql`insert into contract_link (install, contract_id, link_id, named_at)
    ${counter(contracts)} select 'acme', 'ctr' || n, 'lnk' || (1 + n % 300), ${sql.lit(seenAt)} from counter`.execute(
    db,
  );
}
