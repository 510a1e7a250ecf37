import MarkdownIt, { type Token } from 'markdown-it';
import { AppError } from '../domain/errors.ts';

/** A node of the canonical JSON of a page (spec: part B section 2.1). */
export interface PageNode extends Record<string, unknown> {
  type: string;
  text?: string;
  attrs?: Record<string, unknown>;
  marks?: PageNode[];
  content?: PageNode[];
}

/** Stands in a page for a node that Markdown cannot say. */
export const kept = 'kept';
const keptPattern = /^<!-- kept: .*-->$/;
/** Between two lists, which would otherwise be one. */
export const separator = '<!-- -->';

// HTML in a page is its text.
const parser = new MarkdownIt('commonmark', { html: false, maxNesting: 100 }).enable(['table', 'strikethrough']);

const containers: Record<string, (token: Token) => PageNode> = {
  paragraph: () => ({ type: 'paragraph' }),
  heading: ({ tag }) => ({ type: 'heading', attrs: { level: Number(tag.slice(1)) } }),
  bullet_list: () => ({ type: 'bulletList' }),
  ordered_list: (token) => withAttr('orderedList', 'start', token.attrGet('start')),
  list_item: () => ({ type: 'listItem' }),
  blockquote: () => ({ type: 'blockquote' }),
  table: () => ({ type: 'table' }),
  tr: () => ({ type: 'tableRow' }),
  th: () => ({ type: 'tableCell' }),
  td: () => ({ type: 'tableCell' }),
};

/**
 * The nodes of a page in Markdown: CommonMark with tables and strikethrough.
 *
 * @throws AppError `invalid` for an image that is no asset
 */
export function parseMarkdown(text: string): PageNode[] {
  const root: PageNode[] = [];
  const open = [root];
  for (const token of parser.parse(text, {})) {
    const into = open.at(-1) ?? root;
    if (token.nesting === -1) open.pop();
    else if (token.nesting === 1) open.push(openNode(into, token));
    else for (const node of toLeaves(token)) into.push(node);
  }
  return root.map(unwrap).filter(({ type }) => type !== separator);
}

/** @returns where its content goes */
function openNode(into: PageNode[], token: Token): PageNode[] {
  const node = containers[token.type.replace('_open', '')]?.(token);
  if (node === undefined) return into;
  const content: PageNode[] = [];
  into.push({ ...node, content });
  if (node.type !== 'tableCell') return content;
  const line: PageNode[] = [];
  content.push({ type: 'paragraph', content: line });
  return line;
}

function toLeaves(token: Token): PageNode[] {
  if (token.type === 'inline') return toStandIn(token) ?? toInlines(token);
  return [token.type === 'hr' ? { type: 'horizontalRule' } : toCode(token)];
}

function toCode({ content, info }: Token): PageNode {
  const text = content.replace(/\n$/, '');
  const [language = ''] = info.trim().split(/\s/);
  return { ...withAttr('codeBlock', 'language', language), content: text === '' ? [] : [{ type: 'text', text }] };
}

/** Without attributes if it is empty, because a schema may not know it. */
function withAttr(type: string, name: string, value: unknown): PageNode {
  return value ? { type, attrs: { [name]: value } } : { type };
}

/** A comment is HTML that is no text. In a text, its brackets would be escaped. */
function toStandIn({ content }: Token): PageNode[] | undefined {
  if (content === separator) return [{ type: separator }];
  return keptPattern.test(content) ? [{ type: kept, text: content }] : undefined;
}

function unwrap(node: PageNode): PageNode {
  const [only] = node.content ?? [];
  return only !== undefined && (only.type === kept || only.type === separator) ? only : node;
}

const marks: Record<string, (token: Token) => PageNode> = {
  strong_open: () => ({ type: 'bold' }),
  em_open: () => ({ type: 'italic' }),
  s_open: () => ({ type: 'strike' }),
  link_open: (token) => ({ type: 'link', attrs: { href: token.attrGet('href') } }),
};

function toInlines({ children }: Token): PageNode[] {
  let around: PageNode[] = [];
  const nodes = (children ?? []).flatMap((token): PageNode[] => {
    const mark = marks[token.type]?.(token);
    if (mark !== undefined) around = [...around, mark];
    else if (token.nesting === -1) around = around.slice(0, -1);
    else return [toInline(token, around)];
    return [];
  });
  return joinAlike(nodes.filter(({ text }) => text !== ''));
}

function toInline(token: Token, around: PageNode[]): PageNode {
  if (token.type === 'hardbreak') return { type: 'hardBreak' };
  if (token.type === 'image') return toImage(token);
  const all = token.type === 'code_inline' ? [...around, { type: 'code' }] : around;
  const text = token.type === 'softbreak' ? ' ' : token.content;
  return { type: 'text', text, ...(all.length > 0 && { marks: all }) };
}

function joinAlike(nodes: readonly PageNode[]): PageNode[] {
  const joined: PageNode[] = [];
  for (const node of nodes) {
    const last = joined.at(-1);
    const isAlike = last?.type === 'text' && JSON.stringify(last.marks) === JSON.stringify(node.marks);
    if (isAlike && node.type === 'text') last.text = `${last.text}${node.text}`;
    else joined.push(node);
  }
  return joined;
}

function toImage(token: Token): PageNode {
  const [, assetId] = /^asset:([\w-]+)$/.exec(String(token.attrGet('src'))) ?? [];
  const alt = (token.children ?? []).map(({ content }) => content).join('');
  if (assetId !== undefined) return { type: 'image', attrs: { assetId, alt } };
  throw new AppError('invalid', 'An image must be an asset of the marketplace: ![what it shows](asset:<id>)');
}
