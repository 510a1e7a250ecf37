import { z } from 'zod';

/**
 * The canonical JSON of a page of a manual (spec: part B section 2.1): a tree of nodes, each with a type. Which types
 * there are is not documented, so all are read, and `to-guideline.ts` decides what becomes of them.
 */

const Attrs = z.record(z.string(), z.unknown()).catch({});

const Mark = z.object({ type: z.string(), attrs: Attrs });
export type CanonicalMark = z.infer<typeof Mark>;

export interface CanonicalNode {
  type: string;
  text: string;
  attrs: Record<string, unknown>;
  marks: CanonicalMark[];
  content: CanonicalNode[];
}

const Node: z.ZodType<CanonicalNode> = z.object({
  type: z.string(),
  text: z.string().catch(''),
  attrs: Attrs,
  marks: z.array(Mark).catch([]),
  content: z.lazy(() => z.array(Node).nullish()).transform((content) => content ?? []),
});

/** A page is at most this deep and this large. A list in a list is four nodes deep. */
const maxDepth = 60;
const maxNodes = 20_000;

/** The root of a page; null for what is no such tree, or is too deep or too large to be one. */
export function readCanonical(value: unknown): CanonicalNode | null {
  return isBounded(value) ? (Node.safeParse(value).data ?? null) : null;
}

/** Without recursion, because it is asked before the depth is known. */
function isBounded(root: unknown): boolean {
  const waiting: { node: unknown; depth: number }[] = [{ node: root, depth: 1 }];
  for (let seen = 0; seen < waiting.length; seen += 1) {
    const { node, depth } = waiting[seen] ?? { node: null, depth: 0 };
    if (depth > maxDepth || waiting.length > maxNodes) return false;
    for (const child of contentOf(node)) waiting.push({ node: child, depth: depth + 1 });
  }
  return true;
}

function contentOf(node: unknown): unknown[] {
  const content: unknown = typeof node === 'object' && node !== null && 'content' in node ? node.content : [];
  return Array.isArray(content) ? content : [];
}
