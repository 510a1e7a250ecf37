import { z } from 'zod';

/**
 * The canonical JSON of a manual's page (spec: part B section 2.1), a tree of typed nodes. The types are undocumented, so
 * all are read, and `to-guideline.ts` decides what becomes of them.
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

/** The limits of a page. A list in a list is four nodes deep. */
const maxDepth = 60;
const maxNodes = 20_000;

/** The root of a page; null for anything else, and for a tree that is too deep or too large. */
export function readCanonical(value: unknown): CanonicalNode | null {
  return isBounded(value) ? (Node.safeParse(value).data ?? null) : null;
}

/** Without recursion, because the depth is not known yet. */
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
