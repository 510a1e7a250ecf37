import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mutants } from './mutants.ts';

describe('mutants', () => {
  it('each change the one place that they name, and something', () => {
    const stale = mutants.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2);
    expect(stale.map(({ rule }) => rule)).toEqual([]);
    expect(mutants.filter(({ find, replace }) => find === replace)).toEqual([]);
  });
});
