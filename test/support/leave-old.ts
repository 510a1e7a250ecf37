import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../src/db/open-database.ts';
import { bodyContext } from '../../src/db/seal-contexts.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { secretKey } from './bridge-process.ts';
import { type ContractEvent, toBody } from './lifecycle-events.ts';
import { migrateOnly } from './migrate-only.ts';

/** Before sources, feeds, guidelines, payments and keys that begin with a time. */
const newest = '0026-counted';
const chunk = 500;

interface Left {
  /** Stored and not looked at yet. */
  pending: readonly ContractEvent[];
  handled: readonly ContractEvent[];
}

/** A database as an old version leaves it. */
export async function leaveOld(url: string, { pending, handled }: Left): Promise<void> {
  const names = globSync('migrations/*.ts').map((file) => path.basename(file, '.ts'));
  const database = openDatabase(url);
  await migrateOnly(
    database,
    names.filter((name) => name <= newest),
  );
  const rows = [
    ...pending.map((event) => ({ ...toRow(event), state: 'pending' as const, nextAttemptAt: event.createdAt })),
    ...handled.map((event) => ({ ...toRow(event), state: 'handled' as const, nextAttemptAt: null })),
  ];
  for (let first = 0; first < rows.length; first += chunk) {
    await database.kysely
      .insertInto('delivery')
      .values(rows.slice(first, first + chunk))
      .execute();
  }
  await database.close();
}

const box = createSecretBox(secretKey);

function toRow(event: ContractEvent) {
  const text = toBody(event);
  const bodySha256 = createHash('sha256').update(text).digest();
  const body = box.seal(Buffer.from(text), bodyContext({ install: 'acme', bodySha256 }));
  return { install: 'acme', bodySha256, body, receivedAt: event.createdAt, readerVersion: 1, headers: '{}' };
}
