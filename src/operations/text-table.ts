import { stripControl } from '../lib/text.ts';
import { paint } from '../lib/tone.ts';
import { sayAge } from '../lib/units.ts';
import type { Cell, ColumnOptions, Columns } from './show.ts';

/**
 * Tables for people, from texts that strangers chose. Nothing is cut: a table that is wider than the terminal leaves out
 * empty columns, then wraps its longest texts, then spreads each row over several lines.
 */

interface Column {
  title: string;
  /** `right` for numbers. */
  align?: 'left' | 'right';
  /** A state is shown in its colour. */
  as?: ColumnOptions<never>['as'];
}

/** A printed column: its title, then a cell for each row. */
interface Block {
  isState: boolean;
  align: 'left' | 'right';
  cells: string[];
  /** In columns of the terminal. */
  width: number;
}

const gap = '  ';
const indent = '    ';
/** Text is wrapped to less than this only if the terminal is too narrow. */
const readableWidth = 20;

export function formatList<Row>(rows: readonly Row[], columns: Columns<Row>, whenEmpty: string): string {
  if (rows.length === 0) return whenEmpty;
  return formatTable(
    columns.map(([title, , { align, as } = {}]): Column => ({ title, ...(align && { align }), ...(as && { as }) })),
    rows.map((row) => columns.map(([, cell, options]) => (options?.as === 'age' ? ageOf(cell(row)) : cell(row)))),
  );
}

function ageOf(instant: Cell): Cell {
  if (typeof instant !== 'string' || instant === '') return instant;
  const ms = Date.now() - Date.parse(instant);
  return ms >= 0 ? sayAge(ms) : `in ${sayAge(-ms)}`;
}

/**
 * Aligned lines without a trailing newline: the titles, then the rows. Nothing in a cell can break the line, move the
 * cursor or colour the terminal.
 *
 * @param width how wide a line may be. In a file or a pipe, a row is one line
 */
export function formatTable(
  columns: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
  width = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  const shapes = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
  const blocks = shapes.map(({ title, align = 'left', as }, index) => {
    const cells = [title, ...rows.map((row) => row[index])].map(toText);
    return { isState: as === 'state', align, cells, width: widestOf(cells) };
  });
  const lines = layOut(blocks, width);
  return [undefined, ...rows]
    .flatMap((_, row) => lines.flatMap((line, index) => formatRow(line, row, index)))
    .join('\n');
}

function toText(cell: Cell): string {
  return charactersOf(withoutMilliseconds(stripControl(String(cell ?? '')))).join('');
}

/** People need instants to the second only. */
export function withoutMilliseconds(text: string): string {
  return text.replace(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z/g, '$1Z');
}

/** The columns on each line of a row. */
function layOut(all: Block[], width: number): Block[][] {
  if (widthOfLine(all) <= width) return [all];
  const blocks = all.filter(({ cells: [, ...cells] }) => cells.some((cell) => !isBlank(cell)));
  const narrowed = narrow(blocks, width);
  if (narrowed !== undefined) return [narrowed];
  const rest = width - indent.length;
  const lines: Block[][] = [];
  for (const block of blocks) {
    const line = lines.at(-1);
    const available = lines.length < 2 ? width : rest;
    if (line !== undefined && widthOfLine([...line, block]) <= available) line.push(block);
    else lines.push([{ ...block, width: Math.min(block.width, rest) }]);
  }
  return lines;
}

function isBlank(cell: string): boolean {
  return cell.trim() === '';
}

/** Wraps the longest texts until all columns fit; undefined if they do not. */
function narrow(blocks: Block[], width: number): Block[] | undefined {
  const narrowed = blocks.map((block) => ({ ...block, least: leastWidth(block) }));
  for (;;) {
    const excess = widthOfLine(narrowed) - width;
    if (excess <= 0) return narrowed;
    const [longest] = narrowed.filter((block) => block.width > block.least).toSorted((a, b) => b.width - a.width);
    if (longest === undefined) return undefined;
    longest.width = Math.max(longest.least, longest.width - excess);
  }
}

/** No word is broken, because people copy ids. */
function leastWidth({ cells, width }: Block): number {
  const words = cells.flatMap((cell) => cell.split(' '));
  return Math.max(Math.min(width, readableWidth), widestOf(words));
}

function widestOf(texts: readonly string[]): number {
  return texts.reduce((widest, text) => Math.max(widest, widthOf(text)), 0);
}

function widthOfLine(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { width }) => sum + width, gap.length * (blocks.length - 1));
}

/** One line of a row, as several lines if cells are wrapped. A further line without text is left out. */
function formatRow(blocks: Block[], row: number, line: number): string[] {
  if (line > 0 && blocks.every(({ cells }) => isBlank(cells[row] ?? ''))) return [];
  const wrapped = blocks.map(({ cells, width }) => wrap(cells[row] ?? '', width));
  const height = Math.max(1, ...wrapped.map((parts) => parts.length));
  return Array.from({ length: height }, (_, index) =>
    (line > 0 ? indent : '')
      .concat(blocks.map((block, at) => pad(wrapped[at]?.[index] ?? '', block, row)).join(gap))
      .trimEnd(),
  );
}

/** The first row has the titles. */
function pad(text: string, { align, width, isState, cells }: Block, row: number): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(text)));
  const shown = isState && row > 0 && text !== '' ? paint(cells[row] ?? '', text) : text;
  return align === 'left' ? shown + padding : padding + shown;
}

/** Breaks a text at spaces, and words that are longer than a line. */
function wrap(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((one) => breakWord(one, width))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line].filter((one) => one !== '');
}

function breakWord(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word];
  const pieces: string[] = [''];
  for (const character of charactersOf(word)) {
    const longer = `${pieces.at(-1)}${character}`;
    if (widthOf(longer) <= width) pieces[pieces.length - 1] = longer;
    else pieces.push(character);
  }
  return pieces;
}

function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return charactersOf(text).reduce((width, character) => width + widthOfCharacter(character), 0);
}

/** Created at its first use, because it loads megabytes of tables. */
let segmenter: Intl.Segmenter | undefined;
const maxCodeUnits = 32;

/** What a reader sees as characters. One with very many accents keeps only the first of them. */
function charactersOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) =>
    segment.length > maxCodeUnits ? segment.slice(0, maxCodeUnits).toWellFormed() : segment,
  );
}

/** Chinese, Japanese, Korean and emoji take two columns. Marks that join the character before take none. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u;

function widthOfCharacter(character: string): number {
  if (wide.test(character)) return 2;
  return /^[\p{Mn}\p{Me}\u200c\u200d]+$/u.test(character) ? 0 : 1;
}

/** A count, or its change. */
export function formatChange(before: number | null, after: number | null): string {
  if (after === null) return '';
  return before === null || before === after ? String(after) : `${before} → ${after}`;
}

export function toCsv<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row) ?? null));
  return writeCsv([columns.map(([title]) => title), ...cells]);
}

/** Rows by RFC 4180. No spreadsheet takes a cell for a formula. */
export function writeCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  const harmless = typeof value === 'string' && isFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Spreadsheets also read the full-width and small forms of these signs, which NFKC makes plain, and the minus sign. */
function isFormula(text: string): boolean {
  return /^[\s\p{C}]*[=+\-@\u2212]|^[\t\r\n]/u.test(text.normalize('NFKC'));
}
