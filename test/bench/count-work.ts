import SqliteDatabase from 'better-sqlite3';
import { DefaultQueryCompiler } from 'kysely';
import pg from 'pg';

/** What this process has made its databases do. */
export interface Work {
  /** Run by the database, those of transactions included. */
  statements: number;
  /** Built by Kysely, from the calls that make a query to its text. */
  queries: number;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Counts from now on. @returns what reads the counts */
export function countWork(): () => Work {
  const work = { statements: 0, queries: 0 };
  const addTo = (what: keyof Work) => () => {
    work[what] += 1;
  };
  const statement = new SqliteDatabase(':memory:').prepare('select 1').constructor.prototype;
  for (const name of ['run', 'get', 'all']) before(statement, name, addTo('statements'));
  before(pg.Client.prototype, 'query', addTo('statements'));
  before(DefaultQueryCompiler.prototype, 'compileQuery', addTo('queries'));
  return () => ({ ...work });
}

function before(prototype: object, name: string, note: () => void): void {
  const methods = prototype as Record<string, Method>;
  const method = methods[name] as Method;
  methods[name] = function (...args) {
    note();
    return method.apply(this, args);
  };
}
