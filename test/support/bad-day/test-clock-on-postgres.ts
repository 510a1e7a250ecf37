import pg from 'pg';

/**
 * Has a database tell the test's time, by which leases are measured and which it would otherwise
 * take from its machine: then hours may pass, and a bridge be restarted after them.
 */
export async function setPostgresClock(databaseUrl: string, now: Date): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const name = client.escapeIdentifier(new URL(databaseUrl).pathname.slice(1));
    const instant = client.escapeLiteral(now.toISOString());
    await client.query(`
      create schema if not exists test_clock;
      create or replace function test_clock.clock_timestamp() returns timestamptz
        language sql as $$ select ${instant}::timestamptz $$;
      alter database ${name} set search_path = test_clock, pg_catalog, public;
    `);
  } finally {
    await client.end();
  }
}
