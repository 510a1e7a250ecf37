import { expect } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { createClient } from '../../src/marketplace/client.ts';
import { type ChangesetOperation, changesets } from '../../src/marketplace/contract/changesets.ts';
import { manuals, pages, TreePage } from '../../src/marketplace/contract/instructions.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

/** A manual as the marketplace has it, and a person who edits it there. */

const { signal } = new AbortController();

interface Paragraph {
  attrs?: object;
  content?: { text: string }[];
}

export interface MarketPage {
  manualId: string;
  pageId: string;
  parentId: string | null;
  title: string | null;
  position: number | null;
  audience: string | null | undefined;
  isArchived: boolean;
  revisions: Paragraph[][];
}

export function partsOf({ revisions }: Pick<MarketPage, 'revisions'>): string[] {
  return (revisions.at(-1) ?? []).map(({ content = [] }) => content.map(({ text }) => text).join(''));
}

export const editNames = ['write', 'retitle', 'create', 'move at the marketplace', 'archive'] as const;
export type EditName = (typeof editNames)[number];
/** What a person does there. @param other a page, or null for the top */
type Edit = (page: MarketPage, other: string | null, word: string, luck: number) => Promise<void>;

export type Market = ReturnType<typeof openMarket>;

export function openMarket(sandbox: Sandbox, baseUrl: string) {
  const { accountId, token } = sandbox.createAccount();
  const client = createClient({ baseUrl, token });
  const workspaceId = `wsp_${accountId}`;
  const known = new Map<string, Promise<Paragraph[]>>();

  async function readRevision(pageId: string, revision: number): Promise<Paragraph[]> {
    const { content } = (await client.call(pages.get, { pageId, revision }, signal)).page;
    return Object(content).content ?? [];
  }

  async function toPage(
    manualId: string,
    parentId: string | null,
    { pageId, title, position, audience, ...page }: TreePage,
  ) {
    const numbers = Array.from({ length: page.revisionNumber ?? 0 }, (_, index) => index + 1);
    const revisions = numbers.map((number) => {
      const read = known.get(`${pageId} ${number}`) ?? readRevision(pageId, number);
      known.set(`${pageId} ${number}`, read);
      return read;
    });
    const facts = { manualId, pageId, parentId, title, position, audience, isArchived: page.archived === true };
    return { ...facts, revisions: await Promise.all(revisions) };
  }

  async function toPages(
    manualId: string,
    tree: readonly TreePage[],
    parentId: string | null = null,
  ): Promise<MarketPage[]> {
    const all = tree.map(async (page) => [
      await toPage(manualId, parentId, page),
      ...(await toPages(manualId, TreePage.array().parse(page.children ?? []), page.pageId)),
    ]);
    return (await Promise.all(all)).flat();
  }

  let last: { manualId?: string; revision: number; pages: MarketPage[] } = { revision: 0, pages: [] };

  /** The manual, once there is one. */
  async function read() {
    const [manual, ...others] = await client.listWhole(manuals.list, { workspaceId }, signal);
    expect(others).toEqual([]);
    const revision = manual?.head?.revisionNumber ?? 0;
    if (manual === undefined || revision === last.revision) return last;
    const tree = await client.call(manuals.tree, { manualId: manual.id }, signal);
    last = { manualId: manual.id, revision, pages: await toPages(manual.id, tree.pages) };
    return last;
  }

  /** What the marketplace refuses, such as a page below itself, is left as it is. */
  async function apply(operation: ChangesetOperation): Promise<void> {
    const applied = client.call(changesets.apply, { workspaceId, operations: [operation] }, signal);
    await applied.catch((error) => {
      if (!(error instanceof AppError) || error.code !== 'conflict') throw error;
    });
  }

  const edits: Record<EditName, Edit> = {
    /** Adds a paragraph, or to a paragraph. */
    async write({ pageId, revisions }: MarketPage, _: string | null, word: string, luck: number) {
      const before = revisions.at(-1) ?? [];
      const at = luck % (before.length + 1);
      const [was = { attrs: { id: word } }] = before.slice(at);
      const text = [...(was.content ?? []).map((one) => one.text), word].join(' ');
      const content = before.toSpliced(at, 1, { ...was, ...paragraphOf(text) });
      sandbox.editPage(pageId, { content: { type: 'doc', content } });
    },
    async retitle({ pageId }: MarketPage, _: string | null, __: string, luck: number) {
      sandbox.editPage(pageId, { title: `t${luck % 4}` });
    },
    async create({ manualId }: MarketPage, parentId: string | null, word: string, luck: number) {
      const content = { type: 'doc', content: [{ ...paragraphOf(`new-${word}`), attrs: { id: word } }] };
      const facts = { manualId, clientPageKey: word, title: `n${luck % 3}`, parentId, content };
      await apply({ kind: 'CREATE_PAGE', ...facts });
    },
    'move at the marketplace': ({ pageId }: MarketPage, parentId: string | null, _: string, luck: number) =>
      apply({ kind: 'MOVE_PAGE', pageId, parentId, position: luck % 3 }),
    archive: ({ pageId }: MarketPage) => apply({ kind: 'ARCHIVE_PAGE', pageId }),
  };

  return { workspaceId, account: client, read, edits };
}

function paragraphOf(text: string) {
  return { type: 'paragraph', content: [{ type: 'text', text }] };
}
