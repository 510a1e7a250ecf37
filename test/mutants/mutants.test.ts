import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { liveMutants } from '../simulation/live-mutants.ts';
import { mutants } from './mutants.ts';

describe.each([
  { of: 'the tests', all: mutants },
  { of: 'the simulation', all: liveMutants },
])('mutants of $of', ({ all }) => {
  it('each change the one place that they name, and something', () => {
    const stale = all.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2);
    expect(stale.map(({ rule }) => rule)).toEqual([]);
    expect(all.filter(({ find, replace }) => find === replace)).toEqual([]);
  });
});
