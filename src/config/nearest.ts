/** ` (did you mean "x"?)` for the candidate with the fewest edits, if one is close. */
export function suggestNearest(word: string, candidates: Iterable<string>): string {
  const limit = Math.max(2, Math.floor(word.length / 3));
  const ranked = [...candidates]
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0] === undefined ? '' : ` (did you mean "${ranked[0].candidate}"?)`;
}

/** Levenshtein: how many characters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
