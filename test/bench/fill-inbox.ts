import { sql } from 'kysely';
import { openStorage } from '../../src/app/storage.ts';
import { createMadeRows } from './made-rows.ts';

const usualChunk = 20_000;

interface FillOptions {
  firstDaysAgo?: number;
  lastDaysAgo?: number;
  key?: Buffer;
  chunk?: number;
}

/**
 * Makes an inbox that has been in use for long: settled deliveries of the usual size, with keys and
 * ids as real ones have, created and received between `firstDaysAgo` and `lastDaysAgo`.
 *
 * @param key of the database, where no file keeps it
 * @param chunk so many were received at the same time
 */
export async function fillInbox(
  url: string,
  rows: number,
  { firstDaysAgo = 2, lastDaysAgo = 2, key, chunk = usualChunk }: FillOptions = {},
): Promise<void> {
  const { database } = await openStorage(url, key);
  const db = database.kysely;
  const { counter, daysAgo, bodyKey, randomHex, bytes } = createMadeRows(database);
  if (database.dialect === 'sqlite') await sql`pragma synchronous = off`.execute(db);
  for (let done = 0; done < rows; done += chunk) {
    const age = lastDaysAgo + (firstDaysAgo - lastDaysAgo) * (1 - done / rows);
    const createdMs = Date.now() - Math.round(age * 86_400_000);
    await sql`
      insert into delivery
        (install, body_sha256, delivery_id, event_type, received_at, state, reader_version, headers, body)
      ${counter(Math.min(chunk, rows - done))}
      select 'acme', ${bodyKey(createdMs)}, ${randomHex(16)}, 'contract.started', ${daysAgo(age)}, 'handled', 1,
        '{"x-opentrain-signature":"t=1763712000,v1=' || ${randomHex(32)} || '"}', ${bytes(830)}
      from counter`.execute(db);
  }
  await database.close();
}
