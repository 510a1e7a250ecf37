import type { Capabilities } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import type { Publication } from '../marketplace/source-records.ts';
import { isBlank } from './decide-guideline.ts';
import { type Block, type Inline, maxChars, type TextRun, toGuideline, tooLong } from './to-guideline.ts';

export type GuidelineFormat = NonNullable<Capabilities['guidelines']>;

interface GuidelineText {
  text: string;
  /** What was left out, in sentences for operators. */
  notes: string[];
}

const writers = { html: toHtml, markdown: toMarkdown } as const;

/**
 * A publication in the format of a tool. Pure.
 *
 * @throws AppError `invalid` for a publication that cannot be read, is blank, or is too long
 */
export function toText(publication: Publication, format: GuidelineFormat): GuidelineText {
  const { blocks, notes } = toGuideline(publication);
  const text = writers[format](blocks);
  if (isBlank(text)) throw new AppError('invalid', 'The publication has no text for trainers');
  if (text.length <= maxChars) return { text, notes };
  throw tooLong();
}

/**
 * Guidelines as HTML. Only these elements are written, and all text of the manual is escaped: only ampersands and angle
 * brackets, so that a tool that sanitizes HTML does not change it.
 */
export function toHtml(blocks: readonly Block[]): string {
  return blocks.map(toHtmlBlock).join('');
}

function toHtmlBlock(block: Block): string {
  switch (block.of) {
    case 'paragraph':
      return element('p', toHtmlInlines(block.inlines));
    case 'heading':
      return element(`h${block.level}`, toHtmlInlines(block.inlines));
    case 'list':
      return element(block.isOrdered ? 'ol' : 'ul', block.items.map((item) => element('li', toHtml(item))).join(''));
    case 'quote':
      return element('blockquote', toHtml(block.blocks));
    case 'code':
      return element('pre', element('code', escapeHtml(block.text)));
    case 'rule':
      return '<hr>';
    case 'table':
      return element('table', element('tbody', block.rows.map(toHtmlRow).join('')));
  }
}

function toHtmlRow(cells: readonly Inline[][], index: number): string {
  const name = index === 0 ? 'th' : 'td';
  return element('tr', cells.map((cell) => element(name, toHtmlInlines(cell))).join(''));
}

const elementOfStyle = { bold: 'strong', italic: 'em', strike: 's', code: 'code' } as const;

function toHtmlInlines(inlines: readonly Inline[]): string {
  return inlines.map((inline) => (inline.of === 'break' ? '<br>' : toHtmlRun(inline))).join('');
}

function toHtmlRun({ text, style, href }: TextRun): string {
  const inside = style.reduceRight((inner, one) => element(elementOfStyle[one], inner), escapeHtml(text));
  if (href === null) return inside;
  return `<a href="${escapeHtml(href).replaceAll('"', '&quot;')}" rel="noopener noreferrer">${inside}</a>`;
}

function element(name: string, inside: string): string {
  return `<${name}>${inside}</${name}>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Guidelines as Markdown, for CommonMark and GitHub. Text of the manual is escaped, so that it is neither Markdown nor
 * HTML, and no reader turns an address in it into a link.
 *
 * @throws AppError `invalid` for a text that is too long for any tool: every nested quote makes all its lines longer
 */
export function toMarkdown(blocks: readonly Block[]): string {
  const text = blocks.map(writeBlock).join('\n\n');
  if (text.length > maxChars) throw tooLong();
  return text;
}

function writeBlock(block: Block): string {
  switch (block.of) {
    case 'paragraph':
      return writeLines(block.inlines);
    case 'heading':
      return `${'#'.repeat(block.level)} ${writeOneLine(block.inlines)}`;
    case 'list':
      return block.items
        .map((item, index) => writeItem(item, block.isOrdered ? `${block.start + index}. ` : '- '))
        .join('\n');
    case 'quote':
      return toMarkdown(block.blocks).replaceAll(/^/gm, '> ');
    case 'code':
      return writeCode(block);
    case 'rule':
      return '***';
    case 'table':
      return writeTable(block.rows);
  }
}

function writeItem(blocks: readonly Block[], marker: string): string {
  return marker + toMarkdown(blocks).replaceAll(/\n(?!\n)/g, `\n${' '.repeat(marker.length)}`);
}

function writeCode({ text, language }: { text: string; language: string }): string {
  const fence = fenceFor(text, 3);
  return `${fence}${language}\n${text}\n${fence}`;
}

function writeTable([head = [], ...rows]: readonly Inline[][][]): string {
  return [writeRow(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(writeRow)].join('\n');
}

function writeRow(cells: readonly Inline[][]): string {
  return `|${cells.map((cell) => ` ${writeOneLine(cell.map(withoutCode))} |`).join('')}`;
}

/** A vertical bar in code would end the cell. */
function withoutCode(inline: Inline): Inline {
  return inline.of === 'break' ? inline : { ...inline, style: inline.style.filter((one) => one !== 'code') };
}

function writeLines(inlines: readonly Inline[]): string {
  const lines = inlines.map((inline) => (inline.of === 'break' ? '\n' : writeRun(inline))).join('');
  return lines.split('\n').map(escapeBegin).join('\\\n');
}

function writeOneLine(inlines: readonly Inline[]): string {
  return escapeBegin(inlines.map((inline) => (inline.of === 'break' ? ' ' : writeRun(inline))).join(''));
}

/** Escapes what would begin a list, a rule or the head of a table. */
function escapeBegin(line: string): string {
  return line
    .trim()
    .replaceAll(/ {2,}/g, ' ')
    .replace(/^[-+:]/, '\\$&')
    .replace(/^(\d+)([.)])/, '$1\\$2');
}

const signOfStyle = { bold: '**', italic: '*', strike: '~~', code: '' } as const;

/** Spaces go outside the signs, because signs next to a space inside them mean nothing. */
function writeRun({ text, style, href, assetId }: TextRun): string {
  if (assetId !== undefined) return `![${escapeText(text)}](asset:${assetId})`;
  const inner = text.trim();
  if (inner === '') return text;
  const begin = text.indexOf(inner);
  const [before, after] = [text.slice(0, begin), text.slice(begin + inner.length)];
  const written = style.reduceRight(
    (inside, one) => `${signOfStyle[one]}${inside}${signOfStyle[one]}`,
    style.includes('code') ? writeCodeSpan(inner) : escapeText(inner),
  );
  return `${before}${href === null ? written : `[${written}](<${escapeHref(href)}>)`}${after}`;
}

/** The spaces at both ends are not shown. */
function writeCodeSpan(text: string): string {
  const fence = fenceFor(text, 1);
  return `${fence} ${text} ${fence}`;
}

/** A longer run of backticks than any in the text. */
function fenceFor(text: string, min: number): string {
  const runs = text.match(/`+/g) ?? [];
  return '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length + 1), min));
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escapeText(text: string): string {
  return text
    .replaceAll(/[\\`*_{}[\]#|~!@$^=]|:(?=\/)|(?<=www)\./gi, '\\$&')
    .replaceAll(/[&<>]/g, (sign) => entities[sign] ?? '');
}

/**
 * Even between angle brackets, some readers take signs in an address for Markdown, so they are encoded, except the
 * brackets of a host. An ampersand is escaped only if it would begin an entity, because not every reader decodes entities
 * there.
 */
function escapeHref(href: string): string {
  const { origin } = new URL(href);
  const rest = href.slice(origin.length).replaceAll(/[<>\\|`\s()*~[\]]/g, encodeSign);
  return origin + rest.replaceAll(/&(?=#?\w+;)/g, '&amp;');
}

function encodeSign(sign: string): string {
  return /[()*~]/.test(sign) ? `%${sign.charCodeAt(0).toString(16).toUpperCase()}` : encodeURIComponent(sign);
}
