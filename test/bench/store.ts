import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Storage } from '../../src/context.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import type { NewDelivery } from '../../src/domain/delivery.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { fillInbox } from './fill-inbox.ts';
import { startProfile, toProfileLines } from './profile.ts';

/**
 * `npm run bench:store`: what storing one delivery costs SQLite, in an empty inbox and in a full one: processor time,
 * and bytes that were asked of the system and given to it. Bytes are the same on a busy machine, unlike requests a
 * second. Then where the processor time goes, by function. It needs Linux, which counts the bytes.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '5000000' },
    groups: { type: 'string', default: '200' },
    /** How many share a commit. */
    size: { type: 'string', default: '64' },
    folder: { type: 'string', default: '.' },
    /** An inbox that was filled before. What is added to it is sealed with a key that no bridge has. */
    full: { type: 'string' },
  },
});
const groups = Number(values.groups);
const size = Number(values.size);
const warmUpGroups = 30;
let number = 0;

const folder = mkdtempSync(path.join(path.resolve(values.folder), '.bench-'));
try {
  const full = `sqlite:${values.full ?? path.join(folder, 'full.db')}`;
  if (values.full === undefined) await fillInbox(full, Number(values.rows), { firstDaysAgo: 29 });
  const inboxes: [name: string, url: string][] = [
    ['empty', `sqlite:${path.join(folder, 'empty.db')}`],
    ['full', full],
  ];
  say(`${size} to a commit           user      system    read      written`);
  for (const [name, url] of inboxes) await measure(name, url);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(name: string, url: string): Promise<void> {
  const database = openDatabase(url, { ownsThread: true });
  await migrate(database);
  const storage = { database, box: createSecretBox(randomBytes(32)) };
  await append(storage, warmUpGroups);
  const [bytesBefore, processorBefore] = [readBytes(), process.cpuUsage()];
  await append(storage, groups);
  const [bytes, { user, system }] = [readBytes(), process.cpuUsage(processorBefore)];
  const each = (amount: number, unit: string) => `${(amount / (groups * size)).toFixed(0)} ${unit}`.padStart(10);
  const read = each(bytes.read - bytesBefore.read, 'B');
  const written = each(bytes.written - bytesBefore.written, 'B');
  say(`${name.padEnd(20)}${each(user, 'µs')}${each(system, 'µs')}${read}${written}`);
  const stop = await startProfile();
  await append(storage, groups);
  for (const line of toProfileLines(await stop(), groups * size)) say(line);
  await database.close();
}

async function append(storage: Storage, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1)
    await appendDeliveries(storage, Array.from({ length: size }, makeDelivery));
}

function makeDelivery(): NewDelivery {
  number += 1;
  const id = `cmc${number % 1000}`;
  const now = new Date().toISOString();
  const contract = { id, status: 'active', title: 'x'.repeat(500) };
  const event = { id: String(number), type: 'contract.started', createdAt: now, resourceId: id, data: { contract } };
  return {
    install: 'acme',
    headers: JSON.stringify({ 'x-opentrain-signature': `t=1763712000,v1=${randomBytes(32).toString('hex')}` }),
    deliveryId: randomUUID(),
    receivedAt: now,
    body: Buffer.from(JSON.stringify(event)),
  };
}

/** By this process, also from and to the cache of the system. */
function readBytes(): { read: number; written: number } {
  const text = readFileSync('/proc/self/io', 'utf8');
  const amountOf = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { read: amountOf('rchar'), written: amountOf('wchar') };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
