import { sql } from 'kysely';
import { openStorage } from '../../src/app/storage.ts';

const chunk = 20_000;

/**
 * Makes an inbox that has been in use for long: settled deliveries of the usual size, with keys and
 * ids as real ones have, created and received between `firstDaysAgo` and two days ago.
 */
export async function fillInbox(url: string, rows: number, { firstDaysAgo = 2 } = {}): Promise<void> {
  const { database } = await openStorage(url);
  const db = database.kysely;
  await sql`pragma synchronous = off`.execute(db);
  for (let done = 0; done < rows; done += chunk) {
    const daysAgo = 2 + (firstDaysAgo - 2) * (1 - done / rows);
    const createdMs = Date.now() - Math.round(daysAgo * 86_400_000);
    await sql`
      with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${Math.min(chunk, rows - done)})
      insert into delivery
        (install, body_sha256, delivery_id, event_type, received_at, state, reader_version, headers, body)
      select 'acme', unhex(printf('%012x', ${createdMs} + n) || hex(randomblob(32))), lower(hex(randomblob(16))), 'contract.started',
        strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || ${daysAgo} || ' days'), 'handled', 1,
        '{"x-opentrain-signature":"t=1763712000,v1=' || lower(hex(randomblob(32))) || '"}', randomblob(830)
      from counter`.execute(db);
  }
  await database.close();
}
