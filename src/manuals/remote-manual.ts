import { AppError } from '../domain/errors.ts';
import { nameOf } from '../guidelines/to-guideline.ts';
import { instructions, manuals, pages, TreePage } from '../marketplace/contract/instructions.ts';
import type { Account } from '../marketplace/source.ts';
import type { ManualFolder } from './manual-folder.ts';
import type { KnownPage } from './manual-schema.ts';
import type { Spell } from './page-text.ts';
import type { PageNode } from './parse-markdown.ts';
import { listUnread, type Refreshed, refresh } from './refresh.ts';

/** Reads a manual, and brings its files up to date. */
export async function pullManual(
  { call }: Account,
  manual: ManualFolder,
  { manualId, workspaceId }: { manualId: string; workspaceId: string },
  signal: AbortSignal,
  isPushed = false,
): Promise<Refreshed> {
  const { title, audience, bindings = [] } = (await call(manuals.get, { manualId }, signal)).manual;
  const tree = await call(manuals.tree, { manualId }, signal);
  const facts = { id: manualId, workspaceId, title: title ?? manualId, audience };
  const remote = { ...facts, bindings, revision: tree.revisionNumber ?? 0, pages: flatten(tree.pages) };
  const contents = new Map<string, unknown>();
  for (const { pageId, revision } of listUnread(manual, remote.pages)) {
    contents.set(pageId, (await call(pages.get, { pageId, revision }, signal)).page.content);
  }
  return refresh(manual, remote, contents, isPushed);
}

/** The pages of a tree, parents first. */
function flatten(tree: readonly TreePage[], above: string | null = null): KnownPage[] {
  return tree.flatMap(({ children = [], archived = false, ...page }, index) => {
    const { pageId, parentId = above, position, audience, checksum, revisionNumber: revision } = page;
    if (checksum === null || revision === null) {
      throw new AppError('invalid', `The marketplace did not say the revision and the checksum of page ${pageId}`);
    }
    const facts = { pageId, parentId, title: page.title ?? pageId, position: position ?? index, isArchived: archived };
    const below = flatten(TreePage.array().parse(children), pageId);
    return [{ ...facts, audience, revision, checksum }, ...below];
  });
}

/** How the marketplace spells the types of nodes and marks, whose names Gangway knows in one spelling only. */
export async function readSpelling({ call }: Account, signal: AbortSignal): Promise<Spell> {
  const { nodes = [], marks = [] } = await call(instructions.capabilities, {}, signal);
  const types = new Map(
    [...nodes, ...marks].flatMap((type) => (typeof type === 'string' ? [[nameOf({ type }), type]] : [])),
  );
  const spell: Spell = ({ type, marks: around, content, ...node }: PageNode) => ({
    type: types.get(nameOf({ type })) ?? type,
    ...node,
    ...(around && { marks: around.map(spell) }),
    ...(content && { content: content.map(spell) }),
  });
  return spell;
}
