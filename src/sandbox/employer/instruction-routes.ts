import { patchKinds } from '../../marketplace/contract/changesets.ts';
import * as contract from '../../marketplace/contract/instructions.ts';
import { forAccount, type Route } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import { toPage } from '../public-shapes.ts';
import type { Manual, Publication, SandboxAccount } from './account.ts';
import { limits, markForms, nodeForms, writePage } from './content-schema.ts';
import { refuse } from './employer-route.ts';
import * as rules from './manual-rules.ts';
import { addWorkspace, inWorkspace, ofManual, ofPage } from './workspace.ts';

const { audiences, instructions, manuals, pages, permissions, publications, workspaces } = contract;

/** Workspaces, who may use them, manuals, pages and publications (spec: part B section 4.1). */
export const instructionRoutes: readonly Route[] = [
  forAccount(instructions.capabilities, () => ({
    schemaVersion: '1',
    nodes: Object.keys(nodeForms),
    marks: Object.keys(markForms),
    attributes: toAttributes({ ...nodeForms, ...markForms }),
    patchOperations: patchKinds,
    audiences,
    formats: ['json', 'html', 'markdown'],
    limits,
  })),

  forAccount(workspaces.list, ({ account, input }) => {
    const own = account.workspaces.filter(({ id }) => account.roles.get(id)?.has(account.ownerUserId));
    return toPage('workspaces', own, input);
  }),
  forAccount(workspaces.create, ({ marketplace, account, input: { name } }) => ({
    workspace: addWorkspace(marketplace, account, marketplace.ids.next('wsp'), name),
  })),
  inWorkspace(workspaces.get, (_call, workspace) => ({ workspace })),
  inWorkspace(workspaces.rename, ({ input }, workspace) => {
    workspace.name = input.name;
    return { workspace };
  }),
  // Without a role in it, nobody gets at it or at what is in it.
  inWorkspace(workspaces.archive, ({ account }, workspace) => {
    account.roles.delete(workspace.id);
    return { workspace };
  }),

  inWorkspace(permissions.list, ({ account }, { id }) => ({
    permissions: [...rolesIn(account, id)].map(([principalId, role]) => ({ principalId, role })),
  })),
  inWorkspace(permissions.grant, ({ account, input: { principalId, role } }, { id }) => {
    requireOther(rolesIn(account, id), principalId).set(principalId, role);
    return { permission: { principalId, role } };
  }),
  inWorkspace(permissions.revoke, ({ account, input: { principalId } }, { id }) => {
    const roles = requireOther(rolesIn(account, id), principalId);
    const role = roles.get(principalId) ?? refuse('permissions', { principalId });
    roles.delete(principalId);
    return { permission: { principalId, role } };
  }),

  inWorkspace(manuals.list, ({ account, input }, { id }) =>
    toPage('manuals', account.manuals.filter(({ workspaceId }) => workspaceId === id).map(toManual), input),
  ),
  inWorkspace(manuals.create, ({ marketplace, account, input }, { id: workspaceId }) => {
    return { manual: toManual(rules.addManual(marketplace, account, workspaceId, input)) };
  }),
  ofManual(manuals.get, (_call, manual) => ({ manual: toManual(manual) })),
  ofManual(manuals.update, ({ input: { title, audience, bindings } }, manual) => {
    manual.title = title ?? manual.title;
    manual.audience = audience ?? manual.audience;
    manual.bindings = bindings?.map(rules.toBinding) ?? manual.bindings;
    return { manual: toManual(manual) };
  }),
  ofManual(manuals.archive, ({ account }, manual) => {
    account.manuals = account.manuals.filter((one) => one !== manual);
    return { manual: toManual(manual) };
  }),
  ofManual(manuals.tree, (_call, manual) => ({
    manualId: manual.id,
    revisionNumber: manual.revisions.length,
    pages: rules.toTree(rules.pagesOf(manual)),
  })),
  ofManual(manuals.revisions, ({ input }, { revisions }) => {
    const records = revisions.map(({ pages: _, ...revision }, index) => ({ revisionNumber: index + 1, ...revision }));
    return toPage('revisions', records.reverse(), input);
  }),
  ofManual(manuals.diff, ({ input: { a, b } }, manual) => ({
    pages: rules.summarize(findRevision(manual, a), findRevision(manual, b)),
  })),
  ofManual(manuals.restore, ({ marketplace, input: { revisionNumber } }, manual) => {
    const restored = rules.restorePages(rules.pagesOf(manual), findRevision(manual, Number(revisionNumber)));
    rules.addRevision(marketplace, manual, restored, `Revision ${revisionNumber}, restored`);
    return { manual: toManual(manual) };
  }),

  ofPage(pages.get, ({ input: { pageId, revision, format = 'json' } }, { revisions }) => {
    const number = revision ?? revisions.length;
    const found = revisions[number - 1] ?? refuse('pages', { pageId, revision });
    const page = { pageId, ...found, revision: number, checksum: rules.checksumOf(found) };
    const { html, ...markdown } = writePage(Object(found.content));
    return { page: { ...page, ...{ json: {}, html: { html }, markdown }[format] } };
  }),

  ofManual(publications.list, ({ input }, manual) =>
    toPage('publications', manual.publications.map(toPublication).reverse(), input),
  ),
  ofManual(publications.create, ({ marketplace, input }, manual) => {
    return { publication: toPublication(rules.publish(marketplace, manual, input)) };
  }),
  ofManual(publications.manifest, ({ input: { publicationNumber, audience } }, { id: manualId, publications: all }) => {
    const found = all[Number(publicationNumber) - 1] ?? refuse('publications', { manualId, publicationNumber });
    const shown = found.pages.filter(
      (page) => audience === undefined || [audience, null].some((one) => one === page.audience),
    );
    return { publicationNumber: found.publicationNumber, revisionNumber: found.baseRevisionNumber, pages: shown };
  }),
];

function toAttributes(forms: typeof nodeForms) {
  return Object.fromEntries(Object.entries(forms).map(([type, { attributes = [] }]) => [type, attributes]));
}

function rolesIn({ roles }: SandboxAccount, workspaceId: string): Map<string, string> {
  return roles.get(workspaceId) ?? new Map();
}

/** The owner keeps the role. */
function requireOther(roles: Map<string, string>, principalId: string): Map<string, string> {
  if (roles.get(principalId) !== 'OWNER') return roles;
  throw new Refusal('conflict', 'The role of the owner cannot be changed or revoked', { principalId });
}

function toManual({ id, title, audience, bindings, revisions }: Manual) {
  return { id, title, audience, bindings, head: { revisionNumber: revisions.length } };
}

function toPublication({ pages: _, ...publication }: Publication) {
  return publication;
}

function findRevision({ id: manualId, revisions }: Manual, revisionNumber: number) {
  return revisions[revisionNumber - 1]?.pages ?? refuse('revisions', { manualId, revisionNumber });
}
