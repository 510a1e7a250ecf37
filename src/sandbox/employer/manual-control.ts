import { AppError } from '../../domain/errors.ts';
import type { Marketplace } from '../marketplace.ts';
import type { Wanted } from '../parse-request.ts';
import { findIn, findOwned } from '../sandbox-state.ts';
import type { Manual, ManualPage } from './account.ts';
import { addManual, addRevision, draftOf, pagesOf, publish, toBinding } from './manual-rules.ts';

/** People write, edit and publish the manuals of their account. There are no events about this. */

export function createManual(marketplace: Marketplace, accountId: string, wanted: Wanted<'NewManual'>) {
  const pages: ManualPage[] = [];
  for (const { title, content = { type: 'doc', content: [] }, audience = wanted.audience, parent } of wanted.pages) {
    const parentId = parent === undefined ? null : pages[parent]?.id;
    if (parentId === undefined) throw new AppError('invalid', `No page ${parent} comes before "${title}"`);
    const place = { id: marketplace.ids.next('pg'), parentId, audience: audience ?? 'WORKER', isArchived: false };
    pages.push({ ...place, revisions: [{ title, content }] });
  }
  const account = findIn(marketplace.state.accounts, 'account', accountId);
  const manual = addManual(marketplace, account, `wsp_${accountId}`, wanted, pages);
  return { manualId: manual.id, pageIds: pages.map(({ id }) => id) };
}

/** Only the draft changes, not what is published. */
export function editPage(marketplace: Marketplace, pageId: string, changes: Wanted<'PageEdit'>) {
  const manuals = [...marketplace.state.accounts.values()].flatMap((account) => account.manuals);
  const manual = manuals.find((one) => pagesOf(one).some(({ id }) => id === pageId));
  if (manual === undefined) throw new AppError('not_found', `No page ${pageId}`);
  const pages = pagesOf(manual).map((page) => {
    const { title = draftOf(page).title, content = draftOf(page).content } = changes;
    return page.id === pageId ? { ...page, revisions: [...page.revisions, { title, content }] } : page;
  });
  addRevision(marketplace, manual, pages);
  return { pageId, revision: pages.find(({ id }) => id === pageId)?.revisions.length };
}

export function publishManual(marketplace: Marketplace, manualId: string, wanted: Wanted<'NewPublication'> = {}) {
  const { publicationNumber } = publish(marketplace, findManual(marketplace, manualId).found, wanted);
  return { manualId, publicationNumber };
}

export function bindManual(marketplace: Marketplace, manualId: string, { bindings }: Wanted<'NewBindings'>) {
  findManual(marketplace, manualId).found.bindings = bindings.map(toBinding);
  return { manualId };
}

/** From then on, the API has neither the manual nor its publications (spec: part B section 3). */
export function archiveManual(marketplace: Marketplace, manualId: string) {
  const { account, found } = findManual(marketplace, manualId);
  account.manuals = account.manuals.filter((one) => one !== found);
  return { manualId };
}

/** Uploaded, so that pages may refer to it. The contract has no operation for that. */
export function addAsset({ state, ids }: Marketplace, accountId: string) {
  const assetId = ids.next('ast');
  findIn(state.accounts, 'account', accountId).readyAssets.add(assetId);
  return { assetId };
}

/** Gives the user of the account a role in one of its workspaces, or takes it. */
export function setWorkspaceRole({ state }: Marketplace, workspaceId: string, { role }: Wanted<'RoleOfCaller'>) {
  const { account } = findOwned(state, 'workspace', workspaceId, ({ workspaces }) => workspaces);
  const roles = findIn(account.roles, 'workspace', workspaceId);
  if (role === null) roles.delete(account.ownerUserId);
  else roles.set(account.ownerUserId, role);
  return { workspaceId, role };
}

function findManual({ state }: Marketplace, manualId: string) {
  return findOwned<Manual>(state, 'manual', manualId, ({ manuals }) => manuals);
}
