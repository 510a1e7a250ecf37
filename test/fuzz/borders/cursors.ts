import assert from 'node:assert/strict';
import { z } from 'zod';
import { AppError } from '../../../src/domain/errors.ts';
import { pageBy, pageById, readCursor, writeCursor } from '../../../src/operations/paging.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';

export const cursors: Target = {
  name: 'cursors',
  inputs: { long: 150_000, short: 1000 },
  reaches: ['read', 'refused'],
  open: () => ({ judge }),
};

const keys: readonly (readonly (string | number)[])[] = [[1], [17], ['a', 'b'], ['street-signs', 'cmu1'], ['']];
const anyKey = z.array(z.union([z.string(), z.number()]));
const texts = { one: z.string(), other: z.string() };

async function judge(chance: Mutator): Promise<string> {
  const cursor = makeCursor(chance);
  const asked: unknown[] = [];
  const find = async (key: unknown) => {
    asked.push(key);
    return [];
  };
  const outcomes = [
    await attempt(() =>
      readCursor('people', cursor, anyKey)
        .filter((part) => typeof part === 'string')
        .map(find),
    ),
    await attempt(() => pageById('people', { cursor, limit: 10 }, find)),
    await attempt(() =>
      pageBy('people', texts, { cursor, limit: 10 }, async (after) => await find(Object.values(after ?? {}))),
    ),
  ];
  for (const key of asked.flat()) checkPart(key);
  return outcomes.includes('read') ? 'read' : 'refused';
}

function makeCursor(chance: Mutator): string {
  const key = chance.pick(keys);
  const written = writeCursor('people', key);
  if (chance.oneIn(3)) return chance.text(written);
  // Anybody who knows the format can forge one.
  const made = chance.oneIn(2)
    ? chance.value(['people', ...key])
    : ['people', ...key.map((part) => changed(chance, part))];
  const text = JSON.stringify(made) ?? '';
  return Buffer.from(chance.oneIn(4) ? chance.text(text) : text).toString('base64url');
}

function changed(chance: Mutator, part: string | number): string | number {
  return typeof part === 'string' ? chance.text(part) : chance.pick([0, -1, 0.5, 2 ** 31, 2 ** 53, 1e300, part + 1]);
}

async function attempt(read: () => unknown): Promise<string> {
  try {
    await read();
    return 'read';
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid', String(error));
    return 'refused';
  }
}

/** What a database is asked with: each dialect must be able to take it. */
function checkPart(part: unknown): void {
  if (typeof part === 'number') assert.ok(Number.isSafeInteger(part) && part > 0, String(part));
  else if (part !== undefined) assert.ok(typeof part === 'string' && !part.includes('\0') && part.isWellFormed());
}
