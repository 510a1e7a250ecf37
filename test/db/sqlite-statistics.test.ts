import SqliteDatabase from 'better-sqlite3';
import { sql } from 'kysely';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../src/db/open-database.ts';
import { statistics } from '../../src/db/sqlite-statistics.ts';
import { sqlite } from '../support/databases.ts';
import { openJourney, untilWorkIsRead } from '../support/journey.ts';
import { addProject, annotate, regions } from '../support/label-studio/at-work.ts';
import { openFakeLabelStudio } from '../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../support/label-studio/label-studio-harness.ts';

/** A plan that goes through a table, or through all of it that a tool or an install has. */
const wholeTable =
  /^(?:SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?|SEARCH (\w+) USING (?:COVERING )?INDEX (\w+) \((?:tool|install)=\?\))$/;

/** Those that may, and what they are for. */
const exceptions = new Map([
  [/leased_until > \S+ null\) limit 1$/, 'once, at a start'],
  [/ order by "\w+", "\w+" limit \d+$/, 'page by page'],
  [/from "contract" .*"budget"\."install".* limit \d+/, 'page by page'],
  [/"read_began_at", "removed_event_at"/, 'a reading of a whole install'],
  [/^select "pair"\./, 'the same'],
  [/select count\(.* filter\(where/, 'what a reading of a whole install has led to'],
  [/^insert into "derivation" .* from "participation" where "install" in/, 'a grant that has changed concerns all'],
  [/^select "id" as "membership"/, 'the test itself waits'],
]);

it('the statistics of the planner are of existing indexes', async () => {
  const database = openDatabase(await sqlite.createMigrated());
  const { rows } = await sql<{ name: string }>`
    select tbl_name || ' ' || name as name from sqlite_schema where type = 'index'`.execute(database.kysely);
  const names = Object.entries(statistics).flatMap(([table, indexes]) =>
    Object.keys(indexes).map((index) => `${table} ${index}`),
  );
  expect(names.filter((name) => !rows.some((row) => row.name === name))).toEqual([]);
});

it('names the texts in the conditions of partial indexes, by which the planner finds them', async () => {
  const { kysely } = openDatabase(await sqlite.createMigrated());
  const { rows } = await sql<{
    text: string;
  }>`select sql as text from sqlite_schema where sql like '% where %'`.execute(kysely);
  const texts = new Set(rows.flatMap(({ text }) => [...text.matchAll(/ = '(\w+)'/g)].flatMap(([, one]) => one ?? [])));
  expect(texts.size).toBeGreaterThan(2);
  for (const text of texts) {
    const { sql: compiled } = kysely.selectFrom('contract').select('install').where('title', '=', text).compile();
    expect(compiled).toContain(`= '${text}'`);
  }
});

it('no statement of a hire, of work or of an end scans a table that grows', async () => {
  const prepared = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  onTestFinished(() => prepared.mockRestore());
  let now = () => new Date();
  const fake = await openFakeLabelStudio(() => now());
  const journey = await openJourney(sqlite, { adapter: createLabelStudio(fake) });
  now = journey.clock.now;
  const project = await addProject(fake, 'Street signs', 4);
  await journey.customer.link(String(project.id));
  const { contractId, trainers } = journey.sandbox.hire({ jobId: journey.customer.jobId });
  await journey.quiet();
  const link = `${fake.url}/user/signup/?token=${fake.users.inviteToken()}`;
  const session = await fake.signUp(link, trainers[0]?.workEmail ?? '', 'Lantern-44-heron');
  if (session === null) throw new Error('the form refuses them');
  await annotate(session, project.tasks[0] ?? 0, { lead_time: 60, result: regions('a') });
  await untilWorkIsRead(journey);
  journey.sandbox.endContract(contractId);
  await journey.quiet();
  const statements = new Set(prepared.mock.calls.map(([statement]) => statement));
  prepared.mockRestore();

  const database = new SqliteDatabase(journey.storage.database.url.slice('sqlite:'.length), { readonly: true });
  const partial = new Set(
    database.prepare("select name from sqlite_schema where type = 'index' and sql like '% where %'").pluck().all(),
  );
  const found = [...statements].flatMap((statement) => {
    // The plan of rows that are given names what refers to them, which is looked for only where a key is broken.
    if (!/^\s*(?:select|with|update|delete|insert[\s\S]*\bselect\b)/.test(statement)) return [];
    const given = Array.from(statement.matchAll(/\?/g), () => 'x');
    const plan = database.prepare(`explain query plan ${statement}`).all(...given) as { detail: string }[];
    return plan.flatMap(({ detail }) => {
      const [, scanned, byScan, searched, bySearch] = wholeTable.exec(detail) ?? [];
      const [table = '', index] = [scanned ?? searched, byScan ?? bySearch];
      // With an empty list no row is read.
      const isNone = / 1 = 0(?: |$)/.test(statement);
      const isWhole = table in statistics && table !== 'link' && !partial.has(index) && !isNone;
      const isException = [...exceptions.keys()].some((pattern) => pattern.test(statement.replaceAll(/\s+/g, ' ')));
      return isWhole && !isException ? [`${detail}: ${statement.slice(0, 300)}`] : [];
    });
  });
  database.close();
  expect(statements.size).toBeGreaterThan(200);
  expect(found).toEqual([]);
});
