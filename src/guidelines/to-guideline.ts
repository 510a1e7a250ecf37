import { AppError } from '../domain/errors.ts';
import { dropTrailing, stripControl } from '../lib/text.ts';
import type { Publication } from '../marketplace/source-records.ts';
import { type CanonicalMark, type CanonicalNode, readCanonical } from './canonical-schema.ts';
import { createLossNotes, describeType, type LossNotes } from './loss-notes.ts';

/** Guidelines consist of the few kinds of blocks that every tool can show. None of them can run code. */
export type Block =
  | { of: 'paragraph'; inlines: Inline[] }
  | { of: 'heading'; level: number; inlines: Inline[] }
  /** `start` is the first number, 1 by default. */
  | { of: 'list'; isOrdered: boolean; start: number; items: Block[][] }
  | { of: 'quote'; blocks: Block[] }
  | { of: 'code'; text: string; language: string }
  | { of: 'rule' }
  /** The first row is the head. All rows have the same number of cells. */
  | { of: 'table'; rows: Inline[][][] };

export type Inline = TextRun | { of: 'break' };

export interface TextRun {
  of: 'text';
  /** One line, without control characters. */
  text: string;
  /** From the outside in. */
  style: readonly Style[];
  /** http or https. */
  href: string | null;
  /** Of an image, which no tool can show. Its text says what it shows. */
  assetId?: string;
}

const styles = ['bold', 'italic', 'strike', 'code'] as const;
type Style = (typeof styles)[number];

export interface Guideline {
  blocks: Block[];
  /** What was left out, each in a sentence for operators. */
  notes: string[];
}

/**
 * Converts a publication. Of unknown nodes only the text is kept, with a note. Pure.
 *
 * @throws AppError `invalid` for an invalid page, or a text that is too long for any tool
 */
export function toGuideline({ pages }: Pick<Publication, 'pages'>): Guideline {
  const notes = createLossNotes();
  const readPages = pages.map(({ title, depth, content }) => {
    const root = readCanonical(content);
    if (root === null) throw unreadable(title);
    return { title, depth, root };
  });
  if (sum(readPages.map(({ title, root }) => title.length + countChars(root))) > maxChars) throw tooLong();
  const blocks = readPages.flatMap(({ title, depth, root }): Block[] => {
    const read = createReader(notes, depth);
    return [...toHeading(toLevel(depth), tidy([plain(toLine(title))])), ...read([root])];
  });
  return { blocks, notes: notes.list() };
}

/** One node of a page, with its images. */
export function readNode(node: CanonicalNode): Block[] {
  return createReader(createLossNotes(), 0)([node]);
}

/** More than a manual of a hundred printed pages. */
export const maxChars = 500_000;

export function tooLong(): AppError {
  return new AppError(
    'invalid',
    `The publication is longer than ${maxChars} characters, and Gangway never truncates one`,
  );
}

function countChars({ text, content }: CanonicalNode): number {
  return text.length + sum(content.map(countChars));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function unreadable(title: string): AppError {
  const page = stripControl(title).slice(0, 80);
  return new AppError('invalid', `Could not read the page "${page}" of the manual: its content is invalid`);
}

/** Names of nodes without separators and in lower case, because editors write them in several ways. */
const inlineNames: ReadonlySet<string> = new Set(['text', 'hardbreak', 'image']);

type ReadBlocks = (nodes: readonly CanonicalNode[]) => Block[];

/** @param depth of the page; its own headings are below it. 0 if it stands alone, with all that Markdown can say */
function createReader(notes: LossNotes, depth: number): ReadBlocks {
  const isPage = depth === 0;
  const inlinesOf = createInlineReader(notes, isPage);

  /** Items outside a list and rows outside a table are read as their content. */
  const readers = new Map<string, (node: CanonicalNode) => Block[]>([
    ['doc', ({ content }) => readBlocks(content)],
    ['paragraph', ({ content }) => toParagraph(inlinesOf(content))],
    ['heading', ({ attrs, content }) => toHeading(toLevel(depth + toNumber(attrs['level'])), inlinesOf(content))],
    ['blockquote', ({ content }) => toQuote(readBlocks(content))],
    [
      'codeblock',
      (node) => [
        { of: 'code', text: isPage ? textOf(node) : toLines(textOf(node)), language: isPage ? toLanguage(node) : '' },
      ],
    ],
    ['horizontalrule', () => [{ of: 'rule' }]],
    ['bulletlist', (node) => toList(node, false)],
    ['orderedlist', (node) => toList(node, true)],
    ['tasklist', (node) => toList(node, false)],
    ['listitem', ({ content }) => readBlocks(content)],
    ['taskitem', ({ content }) => readBlocks(content)],
    ['table', ({ content }) => toTable(content.map((row) => row.content.map((cell) => inlinesOf([cell]))))],
  ]);

  function toList({ attrs, content }: CanonicalNode, isOrdered: boolean): Block[] {
    const items = content.map((item) => readBlocks([item])).filter((blocks) => blocks.length > 0);
    return items.length === 0 ? [] : [{ of: 'list', isOrdered, start: isPage ? toNumber(attrs['start']) : 1, items }];
  }

  function readBlocks(nodes: readonly CanonicalNode[]): Block[] {
    const blocks: Block[] = [];
    let line: CanonicalNode[] = [];
    const endLine = () => {
      blocks.push(...toParagraph(inlinesOf(line)));
      line = [];
    };
    for (const node of nodes) {
      const name = nameOf(node);
      if (inlineNames.has(name)) {
        line.push(node);
        continue;
      }
      endLine();
      blocks.push(...(readers.get(name) ?? readUnknown)(node));
    }
    endLine();
    return blocks;
  }

  function readUnknown(node: CanonicalNode): Block[] {
    notes.add(unknownNode(node));
    return [...toParagraph(tidy([plain(toLine(node.text))])), ...readBlocks(node.content)];
  }

  return readBlocks;
}

/** Nodes that a cell or paragraph may contain besides text. Only their text is kept, without a note. */
const transparentNames: ReadonlySet<string> = new Set([
  ...['heading', 'listitem', 'taskitem', 'bulletlist', 'orderedlist', 'tasklist', 'tablecell', 'tableheader'],
]);

function createInlineReader(notes: LossNotes, hasImages: boolean): (nodes: readonly CanonicalNode[]) => Inline[] {
  const readers = new Map<string, (node: CanonicalNode) => Inline[]>([
    ['text', (node) => [toRun(node, notes)]],
    ['hardbreak', () => [{ of: 'break' }]],
    ['image', (node) => [(hasImages && toImage(node)) || toImageNote(node, notes)]],
    // The last word of a paragraph in a cell must not run into the next paragraph.
    ['paragraph', ({ content }) => [...read(content), plain(' ')]],
  ]);

  function read(nodes: readonly CanonicalNode[]): Inline[] {
    return nodes.flatMap((node) => (readers.get(nameOf(node)) ?? readOther)(node));
  }

  function readOther(node: CanonicalNode): Inline[] {
    if (!transparentNames.has(nameOf(node))) notes.add(unknownNode(node));
    return [plain(toLine(node.text)), ...read(node.content)];
  }

  return (nodes) => tidy(read(nodes));
}

/** By the names of marks, which editors write in several ways. */
export const styleOfMark: ReadonlyMap<string, Style> = new Map([
  ['bold', 'bold'],
  ['strong', 'bold'],
  ['italic', 'italic'],
  ['em', 'italic'],
  ['strike', 'strike'],
  ['code', 'code'],
]);

function toRun({ text, marks }: CanonicalNode, notes: LossNotes): TextRun {
  const found = new Set<Style>();
  let href: string | null = null;
  for (const mark of marks) {
    const name = nameOf(mark);
    const known = styleOfMark.get(name);
    if (known !== undefined) found.add(known);
    else if (name === 'link') href = toHref(mark, notes);
    else notes.add(`${describeType('mark', mark.type)} was left out`);
  }
  return { of: 'text', text: toLine(text), style: styles.filter((one) => found.has(one)), href };
}

const maxHrefChars = 2000;

/** Leaves out credentials, which can make one address look like another. */
function toHref({ attrs }: CanonicalMark, notes: LossNotes): string | null {
  const url = typeof attrs['href'] === 'string' ? URL.parse(attrs['href']) : null;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  const isPlain = url?.username === '' && url.password === '' && url.href.length <= maxHrefChars;
  if (url !== null && isWeb && isPlain) return url.href;
  notes.add('A link that is not http or https was left out: only its text was kept');
  return null;
}

function toImage({ attrs: { assetId, alt } }: CanonicalNode): TextRun | null {
  if (typeof assetId !== 'string' || !/^[\w-]+$/.test(assetId)) return null;
  const text = typeof alt === 'string' ? toLine(alt).trim() : '';
  return { ...plain(text || 'image'), assetId };
}

/** Trainers see that an image is missing, and its description. */
function toImageNote({ attrs }: CanonicalNode, notes: LossNotes): TextRun {
  notes.add('An image was left out');
  const alt = typeof attrs['alt'] === 'string' ? toLine(attrs['alt']).trim() : '';
  return plain(alt === '' ? '[Image]' : `[Image: ${alt}]`);
}

/** How many cells may be added for each existing one, to fill up short rows. */
const maxPadding = 20;

function toTable(rows: Inline[][][]): Block[] {
  const width = Math.max(0, ...rows.map((cells) => cells.length));
  if (width === 0) return [];
  if (width * rows.length > maxPadding * sum(rows.map((cells) => cells.length))) {
    throw new AppError('invalid', 'A table of the manual has a row that is much longer than the others');
  }
  return [{ of: 'table', rows: rows.map((cells) => Array.from({ length: width }, (_, index) => cells[index] ?? [])) }];
}

function toParagraph(inlines: Inline[]): Block[] {
  return inlines.length === 0 ? [] : [{ of: 'paragraph', inlines }];
}

function toHeading(level: number, inlines: Inline[]): Block[] {
  return inlines.length === 0 ? [] : [{ of: 'heading', level, inlines }];
}

function toQuote(blocks: Block[]): Block[] {
  return blocks.length === 0 ? [] : [{ of: 'quote', blocks }];
}

/** Joins runs of the same style, and trims spaces and breaks at both ends. */
function tidy(inlines: readonly Inline[]): Inline[] {
  const runs: Inline[] = [];
  for (const inline of inlines) {
    const last = runs.at(-1);
    if (inline.of === 'text' && last?.of === 'text' && isAlike(inline, last)) {
      runs[runs.length - 1] = { ...last, text: last.text + inline.text };
    } else if (inline.of === 'break' || inline.text !== '') runs.push(inline);
  }
  const [first, last] = [runs.findIndex(isVisible), runs.findLastIndex(isVisible)];
  return runs.slice(Math.max(first, 0), last + 1).map((run, index, all) => {
    if (run.of === 'break') return run;
    const text = index === 0 ? run.text.trimStart() : run.text;
    return { ...run, text: index === all.length - 1 ? text.trimEnd() : text };
  });
}

function isVisible(inline: Inline): boolean {
  return inline.of === 'text' && inline.text.trim() !== '';
}

function isAlike(one: TextRun, other: TextRun): boolean {
  if (one.assetId !== undefined || other.assetId !== undefined) return false;
  return one.href === other.href && one.style.join() === other.style.join();
}

function plain(text: string): TextRun {
  return { of: 'text', text, style: [], href: null };
}

function textOf({ type, text, content }: CanonicalNode): string {
  return nameOf({ type }) === 'hardbreak' ? '\n' : text + content.map(textOf).join('');
}

export function nameOf({ type }: { type: string }): string {
  return type.replaceAll(/[_-]/g, '').toLowerCase();
}

function toLine(text: string): string {
  return stripControl(text).replaceAll(/\s+/g, ' ');
}

function toLines(text: string): string {
  const lines = text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => line && stripControl(line.replaceAll('\t', '    ')).trimEnd());
  return dropTrailing(lines.join('\n').replace(/^\n+/, ''), '\n');
}

function toLanguage({ attrs: { language } }: CanonicalNode): string {
  return typeof language === 'string' && /^[\w+#.-]{1,40}$/.test(language) ? language : '';
}

function toNumber(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 1;
}

function toLevel(depth: number): number {
  return Math.min(Math.max(depth, 1), 6);
}

function unknownNode({ type }: CanonicalNode): string {
  return `${describeType('node', type)} is unknown: only its text was kept`;
}
