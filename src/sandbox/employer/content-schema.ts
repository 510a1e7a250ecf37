import { z } from 'zod';
import type { ChangesetOperation } from '../../marketplace/contract/changesets.ts';
import { refusalOf } from '../error-response.ts';

/** How a type of node or mark looks as HTML and as Markdown. What Markdown does not have is lost in it. */
interface Form {
  attributes?: string[];
  element?: string;
  markdown?: [before: string, after: string];
}

/**
 * The canonical content of a page (spec: part B section 2.1). The vocabulary and the limits are assumed, because the
 * specification leaves them to the capabilities.
 */
export const nodeForms: Record<string, Form> = {
  doc: {},
  text: {},
  paragraph: { element: 'p', markdown: ['', '\n\n'] },
  heading: { element: 'h2', markdown: ['## ', '\n\n'], attributes: ['level'] },
  bulletList: { element: 'ul', markdown: ['', '\n'] },
  orderedList: { element: 'ol', markdown: ['', '\n'], attributes: ['start'] },
  listItem: { element: 'li', markdown: ['- ', ''] },
  blockquote: { element: 'blockquote', markdown: ['> ', ''] },
  codeBlock: { element: 'pre', markdown: ['```\n', '\n```\n\n'], attributes: ['language'] },
  horizontalRule: { element: 'hr', markdown: ['***\n\n', ''] },
  hardBreak: { element: 'br', markdown: ['\\\n', ''] },
  table: { element: 'table' },
  tableRow: { element: 'tr' },
  tableCell: { element: 'td' },
  image: { element: 'img', attributes: ['assetId', 'alt'] },
};
export const markForms: Record<string, Form> = {
  bold: { element: 'strong', markdown: ['**', '**'] },
  italic: { element: 'em', markdown: ['*', '*'] },
  strike: { element: 's', markdown: ['~~', '~~'] },
  code: { element: 'code', markdown: ['`', '`'] },
  underline: { element: 'u' },
  link: { element: 'a', attributes: ['href'] },
};
export const limits = { pageDepth: 6, nodeDepth: 30, nodesPerPage: 5000, operationsPerChangeset: 500 };

const Typed = z.strictObject({ type: z.string(), attrs: z.record(z.string(), z.unknown()).optional() });
type Typed = z.infer<typeof Typed>;

interface ContentNode extends Typed {
  text?: string | undefined;
  marks?: Typed[] | undefined;
  content?: ContentNode[] | undefined;
}

const ContentNode: z.ZodType<ContentNode> = Typed.extend({
  text: z.string().optional(),
  marks: z.array(Typed.refine((mark) => isKnown(mark, markForms))).optional(),
  content: z.array(z.lazy(() => ContentNode)).optional(),
}).refine((node) => isKnown(node, nodeForms) && (node.type === 'text') === (node.text !== undefined));

function isKnown({ type, attrs = {} }: Typed, forms: Record<string, Form>): boolean {
  const form = Object.hasOwn(forms, type) ? forms[type] : undefined;
  return form !== undefined && Object.keys(attrs).every((name) => name === 'id' || form.attributes?.includes(name));
}

/** The nodes of a tree, each with its depth. Without recursion, because a tree may be too deep. */
export function listNodes(root: unknown): { node: unknown; depth: number }[] {
  const found = [{ node: root, depth: 1 }];
  for (const { node, depth } of found) {
    const { content }: { content?: unknown } = Object(node);
    if (Array.isArray(content)) found.push(...content.map((child: unknown) => ({ node: child, depth: depth + 1 })));
  }
  return found;
}

/** @throws Refusal `SCHEMA_INVALID`, or `ASSET_NOT_READY` for an asset that is not among these */
export function requireContent(root: unknown, assets: ReadonlySet<unknown>): ContentNode {
  const nodes = listNodes(root);
  const isBounded = nodes.length <= limits.nodesPerPage && nodes.every(({ depth }) => depth <= limits.nodeDepth);
  const { data } = isBounded ? ContentNode.safeParse(root) : {};
  const all = nodes.map(({ node }): Record<string, unknown> => Object(node).attrs ?? {});
  const ids = all.flatMap(({ id }) => id ?? []);
  if (data?.type !== 'doc' || new Set(ids).size < ids.length) throw refusalOf('SCHEMA_INVALID');
  if (all.every(({ assetId }) => assetId === undefined || assets.has(assetId))) return data;
  throw refusalOf('ASSET_NOT_READY');
}

type Patch = NonNullable<ChangesetOperation['ops']>[number];
type Nodes = readonly unknown[];

/** What takes the place of the node. */
const patches: Record<Patch['op'], (node: ContentNode, nodes: Nodes, attrs: Patch['attrs']) => Nodes> = {
  replace_node: (_, nodes) => nodes,
  insert_before: (node, nodes) => [...nodes, node],
  insert_after: (node, nodes) => [node, ...nodes],
  append_children: (node, nodes) => [{ ...node, content: [...(node.content ?? []), ...nodes] }],
  set_attrs: (node, _, attrs) => [{ ...node, attrs: { ...node.attrs, ...attrs } }],
  delete_node: () => [],
};

/** Applies the patches one after the other. A patch without a node is for the root, which stays. */
export function patchContent(content: unknown, ops: readonly Patch[], assets: ReadonlySet<string>): ContentNode {
  return ops.reduce((root, patch) => requireContent(patchOnce(root, patch), assets), requireContent(content, assets));
}

function patchOnce(root: ContentNode, { op, nodeId = null, nodes = [], attrs }: Patch): unknown {
  const patch = (node: ContentNode) => patches[op](node, nodes, attrs);
  const isWanted = (node: unknown) => Object(node).attrs?.id === nodeId;
  const isOfRoot = nodeId === null || isWanted(root);
  if (isOfRoot && (op === 'append_children' || op === 'set_attrs')) return patch(root)[0];
  const known = listNodes(root).slice(1);
  if (!known.some(({ node }) => isWanted(node))) throw refusalOf('NODE_NOT_FOUND', { nodeId });
  const rewrite = ({ content, ...node }: ContentNode): object => ({
    ...node,
    ...(content && { content: content.flatMap((child) => (isWanted(child) ? patch(child) : rewrite(child))) }),
  });
  return rewrite(root);
}

const forms = { ...nodeForms, ...markForms };

/** A page in the other formats, with what the Markdown lacks (spec: part B section 4.1). */
export function writePage(root: ContentNode) {
  const lost = new Set<string>();
  const toMarkdown = ({ type }: Typed) => {
    const { element, markdown } = forms[type] ?? {};
    if (element !== undefined && markdown === undefined) lost.add(type);
    return markdown ?? ['', ''];
  };
  const markdown = write(root, toMarkdown, (text) => text);
  return { html: write(root, toTags, escapeHtml), markdown, lossReport: [...lost].map((type) => ({ type })) };
}

type Around = (typed: Typed) => readonly string[];

function write({ text, marks = [], content = [], ...node }: ContentNode, around: Around, toText: typeof escapeHtml) {
  const inside: string = text === undefined ? content.map((one) => write(one, around, toText)).join('') : toText(text);
  return [node, ...marks].reduce((written, one) => around(one).join(written), inside);
}

function toTags({ type, attrs = {} }: Typed): readonly string[] {
  const { element } = forms[type] ?? {};
  const attributes = Object.entries(attrs).map(([name, value]) => ` ${name}="${escapeHtml(String(value))}"`);
  return element === undefined ? ['', ''] : [`<${element}${attributes.join('')}>`, `</${element}>`];
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
