import { hash } from 'node:crypto';
import { AppError } from '../domain/errors.ts';
import { readCanonical } from '../guidelines/canonical-schema.ts';
import { type Block, maxChars, nameOf, readNode, styleOfMark } from '../guidelines/to-guideline.ts';
import { toMarkdown } from '../guidelines/to-text.ts';
import { type DiffLine, diffLines } from '../lib/line-diff.ts';
import type { ChangesetOperation } from '../marketplace/contract/changesets.ts';
import { kept, type PageNode, parseMarkdown, separator } from './parse-markdown.ts';

/** Pages as Markdown, and what an edited Markdown makes of a page. */

/** More than a page may have (spec: the capabilities). */
const mostParts = 20_000;

/** A node of a page, and how it is written. Nodes that are written alike say the same. */
interface Piece {
  node: PageNode;
  markdown: string;
  /** What the Markdown lacks. */
  losses: readonly string[];
}

/** A page as Markdown, with what Markdown cannot say of it. */
export function writeMarkdown(content: unknown): { body: string; losses: string[] } {
  const pieces = toPieces(content);
  return { body: join(pieces), losses: [...new Set(pieces.flatMap(({ losses }) => losses))] };
}

function toPieces(content: unknown): Piece[] {
  const nodes = (Object(content) as PageNode).content ?? [];
  const root = readCanonical(content);
  // A page that cannot be read is kept as it is.
  if (root === null || root.content.length !== nodes.length) return [keep({ type: 'page', content: nodes })];
  const pieces = nodes.map(toPiece);
  const body = join(pieces);
  const read = body.length > maxChars ? [] : parseMarkdown(body).map(writeNode);
  return read.join('\n\n') === pieces.map(({ markdown }) => markdown).join('\n\n') ? pieces : nodes.map(keep);
}

function toPiece(node: PageNode): Piece {
  const blocks = readAgain(node);
  // Next to some signs, a word cannot be bold in Markdown.
  const plain = JSON.parse(JSON.stringify(blocks), (key, value) => (key === 'style' ? [] : value)) as Block[];
  for (const said of [blocks, plain]) {
    const markdown = tryMarkdown(said);
    const [read, ...others] = parseMarkdown(markdown);
    if (read === undefined || read.type === kept || others.length > 0) continue;
    if (writeNode(read) !== markdown || lettersOf(read) !== lettersOf(node)) continue;
    return { node, markdown, losses: lossesOf(node, read) };
  }
  return keep(node);
}

function writeNode(node: PageNode): string {
  return node.type === kept ? String(node.text) : tryMarkdown(readAgain(node));
}

/** Empty if it would be too long. */
function tryMarkdown(blocks: readonly Block[]): string {
  try {
    return toMarkdown(blocks);
  } catch (error) {
    if (error instanceof AppError) return '';
    throw error;
  }
}

function keep(node: PageNode): Piece {
  const type = node.type.replaceAll(/[^\w-]/g, '').slice(0, 40);
  const markdown = `<!-- kept: ${type} -->`;
  return { node, markdown, losses: [`a whole ${type}`] };
}

function readAgain(node: PageNode): Block[] {
  const root = readCanonical({ type: 'doc', content: [node] });
  return root === null ? [] : readNode(root);
}

/** The attributes of a node that Markdown says. The others stay with the node. */
const saidAttrs = ['level', 'language', 'start'];

/** What a node has more than what is read from its Markdown. */
function lossesOf({ attrs = {}, ...node }: PageNode, said: PageNode): string[] {
  const own = Object.fromEntries(Object.entries(attrs).filter(([name]) => saidAttrs.includes(name)));
  const count = (facts: readonly string[]) => Map.groupBy(facts, (fact) => fact);
  const known = count(factsOf(said));
  const all = count(factsOf({ ...node, attrs: own }));
  return [...all].filter(([fact, { length }]) => length > (known.get(fact)?.length ?? 0)).map(([fact]) => fact);
}

/** Each node and its attributes, and each mark once, because a text may be split. */
function factsOf(node: PageNode): string[] {
  const all = [node];
  for (const { content = [] } of all) all.push(...content);
  const nodes = all.filter((one) => one.text === undefined && !isBlank(one));
  const marks = all.flatMap((one) => one.marks ?? []);
  return [...nodes.flatMap(sayNode), ...new Set(marks.flatMap(sayNode))];
}

function isBlank(node: PageNode): boolean {
  return ['paragraph', 'listitem'].includes(nameOf(node)) && (node.content ?? []).every(isBlank);
}

const usualValues: readonly unknown[] = [undefined, null, '', false, 1];

function sayNode({ type, attrs = {} }: PageNode): string[] {
  const name = styleOfMark.get(nameOf({ type })) ?? nameOf({ type });
  const unusual = Object.entries(attrs).filter(([key, value]) => key !== 'id' && !usualValues.includes(value));
  return [name, ...unusual.map(([key, value]) => `${key} ${sayValue(value)} of ${name}`)];
}

/** Addresses are alike if they lead to the same place, and texts if they have the same letters. */
function sayValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return URL.parse(value)?.href ?? lettersOf({ type: 'text', text: value });
}

/** Its text without spaces, which Markdown may change. */
function lettersOf({ text, content = [] }: PageNode): string {
  return text === undefined ? content.map(lettersOf).join('') : text.replaceAll(/[\s\p{C}]/gu, '');
}

function join(pieces: readonly Piece[]): string {
  const kindOf = (piece: Piece | undefined) => /^(-|\d+\.) /.exec(piece?.markdown ?? '')?.[0].replace(/\d+/, '');
  const texts = pieces.flatMap((piece, index) => {
    const kind = kindOf(piece);
    return kind !== undefined && kind === kindOf(pieces[index - 1]) ? [separator, piece.markdown] : [piece.markdown];
  });
  return texts.join('\n\n');
}

type Patch = NonNullable<ChangesetOperation['ops']>[number];

export type Spell = (node: PageNode) => PageNode;

export interface Edited {
  /** The whole new content. */
  content: PageNode;
  /** The same as patches; null if a node without an id has changed. */
  ops: Patch[] | null;
  /** What the edited nodes lose. */
  losses: string[];
}

/**
 * What an edited Markdown makes of a page. Nodes whose Markdown says the same stay as they are.
 *
 * @param before what the page has; undefined for a new page
 * @param seed tells the ids of new nodes apart
 * @param spell writes the types of new nodes as the marketplace does
 * @returns null if nothing has changed
 * @throws AppError `invalid` for a text that is too long or that a page cannot keep
 */
export function editPage(before: unknown, body: string, seed = '', spell: Spell = (node) => node): Edited | null {
  const wanted = readBody(body);
  const pieces = toPieces(before);
  const lines = diffLines(
    pieces.map(({ markdown }) => markdown),
    wanted.map(({ markdown }) => markdown),
    mostParts,
  );
  if (before !== undefined && lines.every(({ sign }) => sign === ' ')) return null;
  const { next, gone } = follow(lines, pieces, wanted, (node, place) => {
    return spell({ ...node, attrs: { id: newId(seed, place), ...node.attrs } });
  });
  const changed = next.flatMap(([node, was]) => (was === null || was.node === node ? [] : [was]));
  const losses = new Set([...gone, ...changed].flatMap((one) => one.losses));
  const ops = toPatches(next, gone);
  const content = { type: 'doc', ...Object(before), content: next.map(([node]) => node) };
  if (readCanonical(content) === null)
    throw new AppError('invalid', 'The page has too many parts, or they are too deep');
  return { content, ops, losses: [...losses] };
}

/** Whether both say the same. A text that no page can keep says something else. */
export function saysSame(content: unknown, body: string): boolean {
  try {
    return editPage(content, body) === null;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** Whether a new page with this seed became this one, which may have been edited since. */
export function isMadeWith(seed: string, content: unknown): boolean {
  const nodes = (Object(content) as PageNode).content ?? [];
  return nodes.some((node) => node.attrs?.['id'] === newId(seed, 0));
}

function newId(seed: string, place: number): string {
  return hash('sha256', JSON.stringify([seed, place])).slice(0, 12);
}

function readBody(body: string): Piece[] {
  if (body.length > maxChars) throw new AppError('invalid', `A page may have ${maxChars} characters at most`);
  return parseMarkdown(body).map((node) => {
    if (node.type === kept) return { node, markdown: String(node.text), losses: [] };
    const piece = toPiece(node);
    const [lost] = piece.losses;
    if (lost === undefined) return piece;
    const why = piece.markdown === keep(node).markdown ? 'It is empty, too deep or too long' : `It would lose: ${lost}`;
    throw new AppError('invalid', `A page cannot keep “${lettersOf(node).slice(0, 40)}”. ${why}`);
  });
}

/** A node of the edited page, and what it was before. */
type Next = readonly [node: PageNode, was: Piece | null];

/** Follows the lines of a comparison. What was added in the place of a node of the same type keeps its attributes. */
function follow(
  lines: readonly DiffLine[],
  before: readonly Piece[],
  wanted: readonly Piece[],
  toNew: (node: PageNode, place: number) => PageNode,
) {
  const [known, added] = [[...before], [...wanted]];
  const next: Next[] = [];
  const gone: Piece[] = [];
  let [removed, fresh]: [Piece[], PageNode[]] = [[], []];
  const settle = () => {
    for (const node of fresh) {
      const made = toNew(node, next.length);
      const was = removed[0]?.node.type === made.type ? (removed.shift() ?? null) : null;
      const unsaid = Object.entries(was?.node.attrs ?? {}).filter(([name]) => !saidAttrs.includes(name));
      next.push([{ ...made, attrs: { ...made.attrs, ...Object.fromEntries(unsaid) } }, was]);
    }
    gone.push(...removed);
    [removed, fresh] = [[], []];
  };
  for (const { sign } of lines) {
    if (sign === '-') removed.push(...known.splice(0, 1));
    else if (sign === '+') fresh.push(requireNode(added.shift()));
    else {
      settle();
      added.shift();
      next.push(...known.splice(0, 1).map((was): Next => [was.node, was]));
    }
  }
  settle();
  return { next, gone };
}

function requireNode(piece: Piece | undefined): PageNode {
  if (piece !== undefined && piece.node.type !== kept) return piece.node;
  throw new AppError(
    'invalid',
    `The page has nothing here that ${piece?.markdown} stands for. It cannot be moved or copied`,
  );
}

/** @returns null if a node without an id would be changed, or be the place of a new one */
function toPatches(next: readonly Next[], gone: readonly Piece[]): Patch[] | null {
  const first = next.find(([, was]) => was !== null);
  let at: Patch = first ? { op: 'insert_before', nodeId: idOf(first[1]) } : { op: 'append_children', nodeId: null };
  const fresh: { at: Patch; node: PageNode }[] = [];
  const patches: Patch[] = [];
  for (const [node, was] of next) {
    if (was === null) fresh.push({ at, node });
    else at = { op: 'insert_after', nodeId: idOf(was) };
    if (was !== null && was.node !== node) patches.push({ op: 'replace_node', nodeId: idOf(was), nodes: [node] });
  }
  for (const [place, all] of Map.groupBy(fresh, (one) => one.at)) {
    patches.push({ ...place, nodes: all.map(({ node }) => node) });
  }
  patches.push(...gone.map((was): Patch => ({ op: 'delete_node', nodeId: idOf(was) })));
  return patches.every(({ op, nodeId }) => op === 'append_children' || nodeId !== null) ? patches : null;
}

function idOf(was: Piece | null): string | null {
  const id = was?.node.attrs?.['id'];
  return typeof id === 'string' ? id : null;
}
