import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diffLines, shortenDiff } from '../../src/lib/line-diff.ts';

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });

it('turns the first text into the second', () => {
  fc.assert(
    fc.property(lines, lines, (first, second) => {
      const all = diffLines(first, second);
      const without = (sign: string) => all.filter((one) => one.sign !== sign).map(({ line }) => line);
      expect([without('+'), without('-')]).toEqual([first, second]);
      if (first.join() === second.join()) expect(all.every(({ sign }) => sign === ' ')).toBe(true);
    }),
  );
});

it('also works for texts that are too long to compare line by line', () => {
  const [first, second] = ['a', 'b'].map((name) => Array.from({ length: 1500 }, (_, index) => `${name}${index % 7}`));
  const all = diffLines(['x', ...(first ?? []), 'y'], ['x', ...(second ?? []), 'y']);
  expect([all.length, all[0], all.at(-1)]).toEqual([3002, { sign: ' ', line: 'x' }, { sign: ' ', line: 'y' }]);
});

it('is shortened to the differences and the lines around them', () => {
  const first = ['1', '2', '3', '4', '5', '6', '7', '8'];
  const second = ['1', '2', '3', '4', 'five', '6', '7', '8'];
  expect(shortenDiff(diffLines(first, second))).toEqual(['  …', '  3', '  4', '- 5', '+ five', '  6', '  7', '  …']);
});
