import { sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { jsonRows, jsonTexts } from '../db/json-list.ts';
import { takeTurn } from '../db/lease.ts';
import { readSetting } from '../db/setting-store.ts';
import { type ChainHead, emptyChain, type JournalRow, seal } from './chain.ts';

/** The only SQL of the evidence journal, but for the triggers that write it (`migrations/0024-journal.ts`). */
export interface JournalStore {
  /** Gives rows that are committed their position in the chain. @returns how many */
  seal(): Promise<number>;
  /** Gives all of them their position. */
  sealAll(): Promise<void>;
  head(): Promise<ChainHead>;
  /** Since when there is a journal. */
  since(): Promise<string>;
  /** The position of the last row that was written by then; 0 if there is none. */
  positionAt(instant: string): Promise<number>;
  /** Rows in the order of the chain. */
  list(after: number, limit: number): Promise<JournalRow[]>;
  /**
   * The facts about rows as they were at a position of the chain.
   *
   * @param keys as `keyOf` writes them
   * @returns by key; those that did not exist are left out
   */
  factsAt(position: number, subject: string, keys: readonly string[]): Promise<Map<string, Fact>>;
  /** Notes something that no table holds, unless it was the last that was noted about its subject. */
  note(subject: string, fact: Fact): Promise<void>;
}

export type Fact = Readonly<Record<string, unknown>>;

/** The key of a row as triggers write it. */
export function keyOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts);
}

/** One transaction seals so many at most, so that it is short. */
const sealedAtOnce = 500;
const sealedColumns = ['seq', 'at', 'subject', 'key', 'fact', 'hash'] as const;

export function createJournalStore(database: Database): JournalStore {
  const { kysely } = database;

  async function sealSome(): Promise<number> {
    // Most of the time there is none, and looking takes no lock.
    if ((await unsealed(kysely, 1)).length === 0) return 0;
    return await inTransaction(database, async (tx) => {
      await takeTurn(database, tx, 'journal');
      let head = await readHead(tx);
      const sealed: [number, number, string][] = [];
      for (const row of await unsealed(tx, sealedAtOnce)) {
        head = seal(head, row);
        sealed.push([row.id, head.seq, head.hash]);
      }
      if (sealed.length > 0) await writeSeals(database, tx, sealed);
      return sealed.length;
    });
  }

  return {
    seal: sealSome,
    async sealAll() {
      while ((await sealSome()) > 0);
    },
    head: () => readHead(kysely),
    since: async () => (await readSetting(kysely, 'journal_since')) ?? '',

    async positionAt(instant) {
      // Rows are in the order of time, but for some milliseconds; an index of the time would cost each change.
      let [first, last] = [0, (await readHead(kysely)).seq];
      while (first < last) {
        const middle = Math.ceil((first + last) / 2);
        const row = kysely.selectFrom('journal').select('at').where('seq', '=', middle);
        const { at } = await row.executeTakeFirstOrThrow();
        if (at <= instant) first = middle;
        else last = middle - 1;
      }
      return first;
    },

    async list(after, limit) {
      const rows = await kysely
        .selectFrom('journal')
        .select(sealedColumns)
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...row, seq: Number(row.seq), hash: row.hash ?? '' }));
    },

    async factsAt(position, subject, keys) {
      if (keys.length === 0) return new Map();
      const rows = await kysely
        .selectFrom('journal')
        .select(['key', 'fact'])
        .where('subject', '=', subject)
        .where('key', 'in', jsonTexts(database, keys))
        .where('seq', '<=', position)
        .orderBy('seq')
        .execute();
      // The last one of a key counts in a Map.
      const facts = [...new Map(rows.map(({ key, fact }) => [key, fact]))];
      return new Map(facts.flatMap(([key, fact]) => (fact === null ? [] : [[key, JSON.parse(fact) as Fact] as const])));
    },

    async note(subject, fact) {
      await inTransaction(database, async (tx) => {
        await takeTurn(database, tx, 'journal');
        const row = { subject, key: '[]', fact: JSON.stringify(fact) };
        const last = tx.selectFrom('journal').select('fact').where('subject', '=', subject).where('key', '=', row.key);
        const known = await last.orderBy('id', 'desc').limit(1).executeTakeFirst();
        if (known?.fact === row.fact) return;
        await tx
          .insertInto('journal')
          .values({ ...row, at: nowIn(database) })
          .execute();
      });
    },
  };
}

async function readHead(db: Transaction): Promise<ChainHead> {
  const last = await db
    .selectFrom('journal')
    .select(['seq', 'hash'])
    .where('seq', 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last === undefined ? emptyChain : { seq: Number(last.seq), hash: last.hash ?? '' };
}

async function unsealed(db: Transaction, limit: number) {
  return await db
    .selectFrom('journal')
    .select(['id', 'at', 'subject', 'key', 'fact'])
    .where('seq', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute();
}

async function writeSeals(database: Database, tx: Transaction, sealed: [number, number, string][]): Promise<void> {
  await sql`update journal set seq = given.seq, hash = given.hash
    from (select cast(value ->> 0 as bigint) as id, cast(value ->> 1 as bigint) as seq, value ->> 2 as hash
      from ${jsonRows(database, sealed)} as listed) as given
    where journal.id = given.id`.execute(tx);
}

/** The clock of the triggers. */
function nowIn({ dialect }: Database) {
  return dialect === 'sqlite'
    ? sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
    : sql<string>`to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
