import { type KyselyPlugin, sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { bisection, countRows, firstIdBeyond, firstIdSince, hasChanged, hasRows } from '../../src/db/query.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { newDelivery } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';

const all = Array.from({ length: 200 }, (_, index) => `one "${index}"`);

async function fill({ kysely }: Database, names: readonly string[]): Promise<void> {
  const rows = names.map((name) => ({ install: 'acme', linkId: name, jobId: name, externalProjectId: 'p' }));
  await kysely.insertInto('jobLink').values(rows).execute();
}

describeEachDatabase('a list in a condition', (openFresh) => {
  it('may be empty', async () => {
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

  it('may be longer than the parameters of a statement', async () => {
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

const at = (minute: number) => new Date(Date.UTC(2026, 2, 15, 12, minute)).toISOString();

/** One every two minutes, with ids three apart. */
async function storeSome(database: Database): Promise<{ id: number; receivedAt: string }[]> {
  const { kysely } = database;
  await appendDeliveries(
    storageOf(database),
    Array.from({ length: 60 }, (_, n) => newDelivery(`${n}`)),
  );
  const stored = await kysely.selectFrom('delivery').select('id').orderBy('id').execute();
  const [gone, left] = [stored.filter((_, n) => n % 3 !== 0), stored.filter((_, n) => n % 3 === 0)];
  for (const { id } of gone) await kysely.deleteFrom('delivery').where('id', '=', id).execute();
  const rows = left.map(({ id }, n) => ({ id, receivedAt: at(2 * n) }));
  for (const { id, receivedAt } of rows) {
    await kysely.updateTable('delivery').set({ receivedAt }).where('id', '=', id).execute();
  }
  return rows;
}

describeEachDatabase('an id by a time', (openFresh) => {
  it('has every later row at it or after it, and every earlier row before it', async () => {
    const database = await openFresh();
    const { kysely } = database;
    const rows = await storeSome(database);
    const ids = rows.map(({ id }) => id);
    for (let minute = -2; minute < 44; minute += 1) {
      const first = await firstIdSince(kysely, 'delivery', 'receivedAt', at(minute));
      const beyond = await firstIdBeyond(kysely, 'delivery', 'receivedAt', at(minute));
      // Both may be wrong by the minute in which ids and times are not in one order.
      expect(ids.filter((id) => id >= first)).toEqual(
        rows.filter(({ receivedAt }) => receivedAt >= at(minute - 1)).map(({ id }) => id),
      );
      expect(ids.filter((id) => id < beyond)).toEqual(
        rows.filter(({ receivedAt }) => receivedAt <= at(minute + 1)).map(({ id }) => id),
      );
    }
  });

  it('has no row before it in an empty table', async () => {
    const { kysely } = await openFresh();
    expect(await firstIdSince(kysely, 'delivery', 'receivedAt', at(0))).toBe(1);
  });

  it('is found by one query, because each is a round trip', async () => {
    const database = await openFresh();
    await storeSome(database);
    let questions = 0;
    const counting: KyselyPlugin = {
      transformQuery({ node }) {
        questions += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    await firstIdSince(database.kysely.withPlugin(counting), 'delivery', 'receivedAt', at(20));
    expect(questions).toBe(1);
  });

  it('is found by ids, without reading the rows between them', async () => {
    const { dialect, kysely } = await openFresh();
    const asked = bisection('delivery', 'receivedAt', at(0));
    const plan = await kysely.transaction().execute(async (tx) => {
      if (dialect === 'sqlite') return await sql`explain query plan ${asked}`.execute(tx);
      // Tables that are empty are read whole, unless that is forbidden as far as there is an index.
      await sql`set local enable_seqscan = off`.execute(tx);
      await sql`set local enable_bitmapscan = off`.execute(tx);
      return await sql`explain ${asked}`.execute(tx);
    });
    const lines = plan.rows.map((row) => JSON.stringify(row));
    expect(lines.filter((line) => /probe/.test(line))).not.toEqual([]);
    expect(lines.filter((line) => /SCAN (delivery|probe)|Seq Scan on delivery|(Hash|Merge) Join/.test(line))).toEqual(
      [],
    );
    const ofProbe = /SEARCH probe USING INTEGER PRIMARY KEY|Index Scan using delivery_pkey on delivery probe/;
    expect(lines.filter((line) => ofProbe.test(line))).toHaveLength(1);
  });
});
