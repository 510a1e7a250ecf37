import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { countRows, hasChanged, hasRows } from '../../src/db/query.ts';
import { describeEachDatabase } from '../support/databases.ts';

const all = Array.from({ length: 200 }, (_, index) => `one "${index}"`);

async function fill({ kysely }: Database, names: readonly string[]): Promise<void> {
  const rows = names.map((name) => ({ install: 'acme', linkId: name, jobId: name, externalProjectId: 'p' }));
  await kysely.insertInto('jobLink').values(rows).execute();
}

describeEachDatabase('a list in a condition', (openFresh) => {
  it('may be empty: nothing is in it, and everything is not', async () => {
    const { kysely } = await openFresh();
    await kysely.insertInto('setting').values({ name: 'installs_revision', value: 'mine' }).execute();
    const settings = kysely.selectFrom('setting').where('value', '=', 'mine');
    expect(await countRows(settings.where('name', 'in', []))).toBe(0);
    expect(await countRows(settings.where('name', 'not in', []))).toBe(1);
  });

  it.each([1, 100, 101])('may have %d texts', async (count) => {
    const database = await openFresh();
    await fill(database, all);
    const links = database.kysely.selectFrom('jobLink');
    const listed = all.slice(0, count);
    expect(await countRows(links.where('linkId', 'in', listed))).toBe(count);
    expect(await countRows(links.where('linkId', 'not in', listed))).toBe(all.length - count);
  });

  it('may be longer than the parameters that a statement may have', async () => {
    const database = await openFresh();
    await fill(database, ['n1', 'n69999', 'other']);
    const names = Array.from({ length: 70_000 }, (_, index) => `n${index}`);
    expect(await countRows(database.kysely.selectFrom('jobLink').where('linkId', 'in', names))).toBe(2);
  });

  it.each([1, 101])('may have %d numbers', async (count) => {
    const { kysely } = await openFresh();
    const act = { at: '2026-03-15T12:00:00.000Z', actor: 'ops', action: 'a', subject: 's' };
    const acts = await kysely
      .insertInto('audit')
      .values(Array.from({ length: 150 }, () => act))
      .returning('id')
      .execute();
    const ids = acts.slice(0, count).map(({ id }) => id);
    expect(await countRows(kysely.selectFrom('audit').where('id', 'in', ids))).toBe(count);
  });
});

describeEachDatabase('the rows of a query', (openFresh) => {
  it('are there or not', async () => {
    const { kysely } = await openFresh();
    await kysely.insertInto('setting').values({ name: 'installs_revision', value: 'mine' }).execute();
    expect(await hasRows(kysely.selectFrom('setting').where('value', '=', 'mine'))).toBe(true);
    expect(await hasRows(kysely.selectFrom('setting').where('value', '=', '2'))).toBe(false);
  });

  it('are changed or not', async () => {
    const { kysely } = await openFresh();
    await kysely.insertInto('setting').values({ name: 'installs_revision', value: 'mine' }).execute();
    const update = kysely.updateTable('setting').set({ value: '2' });
    expect(await hasChanged(update.where('value', '=', 'mine'))).toBe(true);
    expect(await hasChanged(update.where('value', '=', 'mine'))).toBe(false);
    expect(await hasChanged(kysely.deleteFrom('setting').where('value', '=', '2'))).toBe(true);
  });
});
