import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { sqliteFileOf } from '../../../src/db/sqlite-database.ts';
import { listDispatches } from '../../../src/notify/notice-store.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { answering, openHook } from '../../support/hook.ts';
import { openJourney } from '../../support/journey.ts';
import { openMailBox, refusal } from '../../support/mail-box.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { addNotices, newNotice } from '../../support/notices.ts';
import { storageOf } from '../../support/storage-of.ts';
import { describeAnyDialect } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const createdAt = new Date().toISOString();
const person = {
  trainer: 'cmu-distinct',
  displayName: 'Zebulon Quetzalcoatl',
  workEmail: 'zebulon.q@opentrain.work',
};

describeAnyDialect('after a journey', (dialect) => {
  it('no address, token or secret lies open in any table, log or metric', async () => {
    const journey = await openJourney(dialect);
    const { customer, storage, log } = journey;
    await journey.deliver(fullEvent({ type: 'contract.started', ...person, createdAt }));
    await journey.deliver(`no event about ${person.workEmail}`);
    await journey.quiet();
    await journey.deliver(fullEvent({ type: 'contract.ended', ...person, createdAt }));
    await journey.quiet();
    expect(await journey.receipts()).toEqual(['add added', 'remove removed']);
    await expectClosed(storage.database, journey, [customer.secret, customer.token]);
    expect(log.text()).toContain('"level"');
  });

  it('nor after a tool has answered with the address of the person that it refuses', async () => {
    const tool = createMemoryTool();
    tool.before = (call) => {
      if (call === 'add') throw new Error(`400: no ${person.workEmail}; whsec_c2VjcmV0 is wrong`);
    };
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    await journey.deliver(fullEvent({ type: 'contract.started', ...person, createdAt }));
    await until('it is refused', journey.receipts, (receipts) => receipts.includes('add refused'));
    expect(journey.log.text()).toContain('z…@opentrain.work');
    await expectClosed(journey.storage.database, journey, ['whsec_c2VjcmV0']);
  });
});

describeAnyDialect('after people outside got notices', (dialect) => {
  it("no channel's address lies open, though every channel fails and quotes it", async () => {
    const secret = `whsec_${Buffer.alloc(32, 'distinct').toString('base64')}`;
    const address = 'finance.distinct@example.com';
    const hook = await openHook('/hooks/key-distinct');
    const closed = [person.workEmail, secret, address, 'key-distinct', hook.url];
    const error = `no: ${closed.join(' ')}`;
    hook.answer = answering(400, { 'content-type': 'application/json' }, JSON.stringify({ error }));
    const gone = await openHook('/hooks/key-distinct');
    gone.close();
    const box = await openMailBox({ onRcptTo: (_, __, done) => done(refusal(450, error)) });
    const channels = {
      billing: { type: 'webhook', url: hook.url, secret },
      chat: { type: 'slack', url: gone.url },
      finance: { type: 'mail', to: [address] },
    };
    const mail = { smtp: box.url, from: 'studio@example.com' };
    const journey = await openJourney(dialect, { mail, notifications: { channels } });
    const { storage, clock, log } = journey;
    await journey.deliver(fullEvent({ type: 'contract.started', ...person, createdAt }));
    const atOnce = Object.fromEntries(Object.keys(channels).map((name) => [name, channels.billing]));
    await addNotices({ database: storage.database, clock }, atOnce, [newNotice()]);
    const list = () => listDispatches(storageOf(storage.database), { limit: 10 });
    await until('all were tried', list, (rows) => rows.every(({ failure }) => failure !== null));
    expect((await list()).map(({ channel, failure }) => [channel, failure])).toEqual([
      ['finance', '450 at RCPT TO'],
      ['chat', 'Could not send a notice: ECONNREFUSED'],
      ['billing', 'answered 400'],
    ]);
    const told = async () => log.text().match(/A notice could not be sent yet/g)?.length ?? 0;
    await until('each is in the log', told, (count) => count >= 3);
    await journey.quiet();
    await expectClosed(storage.database, journey, closed);
  });
});

/** What is secret is nowhere; the name, in the one column for it and nowhere else. */
async function expectClosed(
  database: Database,
  { log, consoleUrl }: { log: { text(): string }; consoleUrl: string },
  secrets: string[],
): Promise<void> {
  const closed = [person.workEmail, ...secrets];
  for (const value of closed) expect(value.length).toBeGreaterThan(10);
  const found = await findInTables(database, [...closed, person.displayName]);
  // That the name is found shows that what is secret would be.
  expect(found).toEqual([`person.display_name: ${person.displayName}`]);

  const metrics = await (await fetch(`${consoleUrl}/metrics`)).text();
  expect(metrics).toContain('gangway_');
  for (const value of [...closed, person.displayName]) {
    expect(log.text()).not.toContain(value);
    expect(metrics).not.toContain(value);
  }
  for (const value of closed) expect(await isInFile(database, value)).toBe(false);
}

/** @returns `table.column: value` wherever one of the values stands in the clear */
async function findInTables(database: Database, values: string[]): Promise<string[]> {
  const tables = await database.kysely.introspection.getTables({ withInternalKyselyTables: true });
  expect(tables.length).toBeGreaterThan(14);
  const found = new Set<string>();
  for (const { name } of tables) {
    const { rows } = await sql<object>`select * from ${sql.table(name)}`.execute(database.kysely);
    const cells = rows.flatMap((row) => Object.entries(row));
    for (const [column, cell] of cells) {
      const text = Buffer.isBuffer(cell) ? cell.toString('latin1') : String(cell);
      const within = values.filter((value) => text.includes(value));
      for (const value of within) found.add(`${name}.${toSnakeCase(column)}: ${value}`);
    }
  }
  return [...found];
}

/** Of SQLite, with its log; where PostgreSQL keeps its files is its own business. */
async function isInFile(database: Database, value: string): Promise<boolean> {
  const file = sqliteFileOf(database.url);
  if (file === undefined) return false;
  return [file, `${file}-wal`].some((one) => readFileSync(one).includes(value));
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
