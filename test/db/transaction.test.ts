import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Database, inTransaction, type Transaction } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { describeEachDatabase, openForTest, postgres, sqlite } from '../support/databases.ts';

const read = (database: Database) => inTransaction(database, (tx) => readSetting(tx, 'key_fingerprint'));
const write = (tx: Transaction, value: string) => writeSetting(tx, 'key_fingerprint', value);

describeEachDatabase('a transaction', (openFresh) => {
  it('keeps all of its work, and returns its result', async () => {
    const database = await openFresh();
    expect(
      await inTransaction(database, async (tx) => {
        await write(tx, 'one');
        return await readSetting(tx, 'key_fingerprint');
      }),
    ).toBe('one');
    expect(await read(database)).toBe('one');
  });

  it('keeps none of its work if it fails at any point', async () => {
    const database = await openFresh();
    const failing = inTransaction(database, async (tx) => {
      await write(tx, 'one');
      throw new Error('after writing');
    });
    await expect(failing).rejects.toMatchObject({ code: 'internal', message: 'after writing' });
    const broken = inTransaction(database, async (tx) => {
      await write(tx, 'two');
      await sql`select nothing from nowhere`.execute(tx);
    });
    await expect(broken).rejects.toMatchObject({ code: 'internal' });
    expect(await read(database)).toBeUndefined();
  });

  it('is not repeated after a permanent failure', async () => {
    const database = await openFresh();
    let attempts = 0;
    const failing = inTransaction(database, async () => {
      attempts += 1;
      throw new Error('a fault of ours');
    });
    await expect(failing).rejects.toThrow('a fault of ours');
    expect(attempts).toBe(1);
  });

  it.each(['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_BUSY_SNAPSHOT', '40001', '40P01', '55P03'])(
    'is done again where another is in the way: %s',
    async (code) => {
      const database = await openFresh();
      let attempts = 0;
      await inTransaction(database, async (tx) => {
        attempts += 1;
        await write(tx, `${attempts}`);
        if (attempts === 1) throw Object.assign(new Error('in the way'), { code });
      });
      expect(await read(database)).toBe('2');
    },
  );

  it('shows none of its work to others before it ends', async () => {
    const database = await openFresh();
    const other = openForTest(database.url);
    const seen = await inTransaction(database, async (tx) => {
      await write(tx, 'one');
      return await readSetting(other.kysely, 'key_fingerprint');
    });
    expect(seen).toBeUndefined();
    expect(await readSetting(other.kysely, 'key_fingerprint')).toBe('one');
  });

  it('loses no update of 20 that two instances make at once', async () => {
    const database = await openFresh();
    const instances = [database, openForTest(database.url)];
    await inTransaction(database, (tx) => write(tx, '0'));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        inTransaction(instances[index % 2] ?? database, async (tx) => {
          const lock = database.dialect === 'postgres' ? sql` for update` : sql``;
          await sql`select value from setting where name = 'key_fingerprint'${lock}`.execute(tx);
          const value = Number(await readSetting(tx, 'key_fingerprint'));
          await write(tx, String(value + 1));
        }),
      ),
    );
    expect(await read(database)).toBe('20');
  });

  it('ends when it is aborted', async () => {
    const database = await openFresh();
    const signal = AbortSignal.abort(new Error('stopping'));
    const stopped = inTransaction(database, (tx) => write(tx, 'one'), { signal });
    await expect(stopped).rejects.toThrow('stopping');
    expect(await read(database)).toBeUndefined();
  });

  it('fails once the database is closed', async () => {
    const database = await openFresh();
    const other = openDatabase(database.url);
    await read(other);
    await other.close();
    await expect(read(other)).rejects.toThrow();
  });
});

describe('a transaction on SQLite while another connection writes', () => {
  it('waits for its turn without blocking the thread', async () => {
    const { database, other } = await openTwo();
    const { release } = await holdWriteLock(other);
    let isDone = false;
    const waiting = inTransaction(database, (tx) => write(tx, 'mine')).finally(() => {
      isDone = true;
    });
    // Were the thread held, it would have given up before the next of these.
    for (let turn = 0; turn < 20; turn += 1) await wait(1);
    expect(isDone).toBe(false);
    await release();
    await waiting;
    expect(await read(database)).toBe('mine');
  });

  it('gives up as unavailable when its patience ends', async () => {
    const { database, other } = await openTwo();
    const { release } = await holdWriteLock(other);
    const waiting = inTransaction(database, (tx) => write(tx, 'mine'), { patienceMs: 100 });
    await expect(waiting).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The database could not be used (SQLITE_BUSY)',
    });
    await release();
    expect(await read(database)).toBe('theirs');
  });

  it('gives up at once when it is aborted', async () => {
    const { database, other } = await openTwo();
    const { release } = await holdWriteLock(other);
    const stopping = new AbortController();
    const waiting = inTransaction(database, (tx) => write(tx, 'mine'), { signal: stopping.signal });
    setTimeout(() => stopping.abort(new Error('stopping')), 20);
    await expect(waiting).rejects.toThrow('stopping');
    await release();
    expect(await read(database)).toBe('theirs');
  });

  it('lets others read meanwhile', async () => {
    const { database, other } = await openTwo();
    const { release } = await holdWriteLock(other);
    expect(await readSetting(database.kysely, 'key_fingerprint')).toBeUndefined();
    await release();
  });
});

describeEachDatabase('two transactions that lock crosswise', (openFresh) => {
  it('both succeed, one after the other', async () => {
    const database = await openFresh();
    const other = openForTest(database.url);
    const names = ['compatibility', 'key_fingerprint'] as const;
    await inTransaction(database, async (tx) => {
      for (const name of names) await writeSetting(tx, name, '0');
    });
    const both = [
      [database, names],
      [other, names.toReversed()],
    ] as const;
    await Promise.all(
      both.map(([instance, order]) =>
        inTransaction(instance, async (tx) => {
          for (const name of order) {
            await sql`update setting set value = value || '+' where name = ${name}`.execute(tx);
            await wait(50);
          }
        }),
      ),
    );
    for (const name of names) expect(await readSetting(database.kysely, name)).toBe('0++');
  });
});

describe('a transaction on PostgreSQL whose connection is terminated', () => {
  it.each([
    ['between two queries', sql`select 1`, 0],
    ['during a query', sql`select pg_sleep(60)`, 100],
  ])('is unavailable, %s, and the next one has another', async (_, query, afterMs) => {
    const database = openForTest(await postgres.createMigrated());
    const other = openForTest(database.url);
    const cut = inTransaction(database, async (tx) => {
      await write(tx, 'one');
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      const terminate = async () => {
        await wait(afterMs);
        await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(other.kysely);
      };
      const terminating = terminate();
      // Time for the client to notice the end, while no query waits for an answer.
      if (afterMs === 0) await terminating.then(() => wait(100));
      await query.execute(tx);
      await terminating;
    });
    await expect(cut).rejects.toMatchObject({ code: 'unavailable' });
    expect(await read(database)).toBeUndefined();
  });
});

describe('a database that cannot be reached', () => {
  it('is unavailable: PostgreSQL on a port without a server', async () => {
    const database = openForTest('postgres://gangway:secret-password@127.0.0.1:1/gangway');
    const error = await read(database).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'unavailable',
      message: 'The database could not be used (ECONNREFUSED)',
    });
    expect(String(error)).not.toContain('secret-password');
  });

  it('is refused: a URL of another kind', () => {
    expect(() => openDatabase('mysql://db')).toThrow(
      expect.objectContaining({ code: 'invalid', message: expect.stringContaining('sqlite:') }),
    );
  });
});

async function openTwo() {
  const url = await sqlite.createMigrated();
  return { database: openForTest(url), other: openForTest(url) };
}

/** Writes, and commits only when it is released; resolves as soon as the lock is held. */
async function holdWriteLock(database: Database) {
  const { promise: held, resolve } = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const committed = inTransaction(database, async (tx) => {
    await write(tx, 'theirs');
    resolve();
    await released.promise;
  });
  await held;
  return {
    async release() {
      released.resolve();
      await committed;
    },
  };
}
