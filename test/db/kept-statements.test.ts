import { describe, expect, it } from 'vitest';
import { withKeptStatements } from '../../src/db/sqlite-database.ts';

/** Texts of ten characters. */
const text = (name: string) => name.padEnd(10, '.');

describe('prepared statements', () => {
  function open(most: number) {
    const prepared: string[] = [];
    const prepare = (sql: string) => ({ number: prepared.push(sql) });
    const database = withKeptStatements({ prepare, close: () => undefined }, most);
    return { prepared, prepare: (name: string) => database.prepare(text(name)) };
  }

  it('are prepared once', () => {
    const { prepared, prepare } = open(100);
    const first = prepare('a');
    prepare('b');
    expect(prepare('a')).toBe(first);
    expect(prepared).toEqual([text('a'), text('b')]);
  });

  it('are kept up to a total length, the most recently used', () => {
    const { prepared, prepare } = open(30);
    for (const name of ['a', 'b', 'c', 'a', 'd']) prepare(name);
    prepared.length = 0;
    for (const name of ['a', 'c', 'd']) prepare(name);
    expect(prepared).toEqual([]);
    prepare('b');
    expect(prepared).toEqual([text('b')]);
  });

  it('are not kept if one alone is longer', () => {
    const { prepared, prepare } = open(9);
    prepare('a');
    prepare('a');
    expect(prepared).toHaveLength(2);
  });
});
