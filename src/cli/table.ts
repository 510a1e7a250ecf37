import { stripControl } from '../lib/strip-control.ts';

/** Tables for people, made of strings that strangers chose. Pure. */

export interface Column {
  title: string;
  /** `right` for numbers. */
  align?: 'left' | 'right';
  /** In columns of the terminal; a longer cell ends in `…`. Unless told, so wide that only a stranger's prank is. */
  maxWidth?: number;
}

export type Cell = string | number | undefined;

/**
 * Lines without a trailing newline: the titles, then the rows, aligned. Nothing in a cell can
 * break the line, move the cursor or colour the terminal. A missing cell is empty.
 */
export function formatTable(
  columns: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
): string {
  const shapes = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
  const table = [shapes.map(({ title }) => title), ...rows];
  const blocks = shapes.map((shape, index) =>
    layOut(
      table.map((cells) => cells[index]),
      shape,
    ),
  );
  return table
    .map((_, line) => blocks.map((block) => block[line] ?? ''))
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}

/** More than any id, name or failure takes, and what one row may make all others wide by. */
const widest = 400;

/** One column: every cell cut and padded to the same width. */
function layOut(cells: Cell[], { align = 'left', maxWidth = widest }: Column): string[] {
  const cut = cells.map((cell) => truncate(stripControl(String(cell ?? '')), maxWidth));
  const width = cut.reduce((widest, cell) => Math.max(widest, widthOf(cell)), 0);
  return cut.map((cell) => {
    const padding = ' '.repeat(width - widthOf(cell));
    return align === 'left' ? cell + padding : padding + cell;
  });
}

function truncate(text: string, maxWidth: number): string {
  let kept = '';
  let width = 0;
  let keptUntilEllipsis = '';
  for (const character of charactersOf(text)) {
    width += widthOfCharacter(character);
    if (width > maxWidth) return `${keptUntilEllipsis}…`;
    kept += character;
    if (width < maxWidth) keptUntilEllipsis = kept;
  }
  return kept;
}

function widthOf(text: string): number {
  return charactersOf(text).reduce((width, character) => width + widthOfCharacter(character), 0);
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
const maxCodeUnits = 32;

/** What a reader sees as characters; one piled high with accents keeps only its first few. */
function charactersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) =>
    segment.length > maxCodeUnits ? segment.slice(0, maxCodeUnits).toWellFormed() : segment,
  );
}

/** Chinese, Japanese, Korean and emoji take two columns; marks that join what is before, none. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u;

function widthOfCharacter(character: string): number {
  if (wide.test(character)) return 2;
  return /^[\p{Mn}\p{Me}\u200c\u200d]+$/u.test(character) ? 0 : 1;
}

/** A count that is about to change, or has. */
export function formatChange(before: number | null, after: number | null): string {
  if (after === null) return '';
  return before === null || before === after ? String(after) : `${before} → ${after}`;
}
