import { diff } from 'node:util';

/** A line of both texts, only of the first (`-`), or only of the second (`+`). */
export interface DiffLine {
  sign: ' ' | '-' | '+';
  line: string;
}

/** Longer differences are not compared line by line, because that takes the square of the time. */
const maxCompared = 2000;

/** The changes, line by line, that turn the first text into the second. */
export function diffLines(first: readonly string[], second: readonly string[], most = maxCompared): DiffLine[] {
  const before = countAlike(first, second);
  const [restOfFirst, restOfSecond] = [first.slice(before), second.slice(before)];
  const after = countAlike(restOfFirst.toReversed(), restOfSecond.toReversed());
  const removed = restOfFirst.slice(0, restOfFirst.length - after);
  const added = restOfSecond.slice(0, restOfSecond.length - after);
  return [
    ...mark(' ', first.slice(0, before)),
    ...compare(removed, added, most),
    ...mark(' ', first.slice(first.length - after)),
  ];
}

const around = 2;

/** Only the lines that differ, with two lines around them, and `…` for what is left out. */
export function shortenDiff(lines: readonly DiffLine[]): string[] {
  const shown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap(({ sign, line }, index) => {
    if (shown[index]) return [`${sign} ${line}`.trimEnd()];
    return index === 0 || shown[index - 1] ? ['  …'] : [];
  });
}

function countAlike(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((line, index) => line !== other[index]);
  return differs === -1 ? one.length : differs;
}

function compare(removed: readonly string[], added: readonly string[], most: number): DiffLine[] {
  if (removed.length === 0 || added.length === 0 || removed.length + added.length > most) {
    return [...mark('-', removed), ...mark('+', added)];
  }
  return diff(removed, added).map(([operation, line]) => ({ sign: ' -+'.at(operation) as DiffLine['sign'], line }));
}

function mark(sign: DiffLine['sign'], lines: readonly string[]): DiffLine[] {
  return lines.map((line) => ({ sign, line }));
}
