import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { describeEachDialect } from '../support/databases.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { openJourney } from '../support/journey.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

const createdAt = new Date().toISOString();
const person = {
  trainer: 'cmu-distinct',
  displayName: 'Zebulon Quetzalcoatl',
  workEmail: 'zebulon.q@opentrain.work',
};

describeEachDialect('after a journey', (dialect) => {
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

  it('nor after a tool has answered with the address of whom it refuses', async () => {
    const tool = createMemoryTool();
    tool.before = (call) => {
      if (call === 'add') throw new Error(`400: no ${person.workEmail}; whsec_c2VjcmV0 is wrong`);
    };
    const journey = await openJourney(dialect, { adapter: tool.adapter });
    await journey.deliver(fullEvent({ type: 'contract.started', ...person, createdAt }));
    await expect.poll(() => journey.receipts()).toContain('add refused');
    expect(journey.log.text()).toContain('z…@opentrain.work');
    await expectClosed(journey.storage.database, journey, ['whsec_c2VjcmV0']);
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
