import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { NewBindings, NewManual, NewPublication, type PageEdit } from '../control-request-schema.ts';
import type { Marketplace } from '../marketplace.ts';
import { parseRequest } from '../platform-request-schema.ts';
import { findIn } from '../sandbox-state.ts';
import type { Manual, ManualPage } from './account.ts';

/** People write, edit and publish the manuals of their account. There are no events about this. */

export function createManual({ state, ids }: Marketplace, accountId: string, wanted: NewManual) {
  const { title, audience, bindings, pages: wantedPages } = parseRequest(NewManual, wanted);
  const pages: ManualPage[] = [];
  for (const page of wantedPages) {
    const parentId = page.parent === undefined ? null : pages[page.parent]?.id;
    if (parentId === undefined) throw new AppError('invalid', `No page ${page.parent} comes before "${page.title}"`);
    pages.push({
      id: ids.next('pg'),
      parentId,
      position: pages.filter((one) => one.parentId === parentId).length,
      audience: page.audience ?? audience,
      revisions: [{ title: page.title, content: page.content ?? { type: 'doc', content: [] } }],
    });
  }
  const manual: Manual = { id: ids.next('mnl'), title, audience, bindings, headRevision: 1, pages, publications: [] };
  findIn(state.accounts, 'account', accountId).manuals.push(manual);
  return { manualId: manual.id, pageIds: pages.map(({ id }) => id) };
}

/** Only the draft changes, not what is published. */
export function editPage({ state }: Marketplace, pageId: string, changes: PageEdit) {
  const manuals = [...state.accounts.values()].flatMap((account) => account.manuals);
  const manual = manuals.find(({ pages }) => pages.some(({ id }) => id === pageId));
  const page = manual?.pages.find(({ id }) => id === pageId);
  const draft = page?.revisions.at(-1);
  if (manual === undefined || page === undefined || draft === undefined) {
    throw new AppError('not_found', `No page ${pageId}`);
  }
  page.revisions.push({ title: changes.title ?? draft.title, content: changes.content ?? draft.content });
  manual.headRevision += 1;
  return { pageId, revision: page.revisions.length };
}

/** Freezes the present pages for these audiences. */
export function publishManual({ state, clock }: Marketplace, manualId: string, wanted: NewPublication = {}) {
  const { audiences, note } = parseRequest(NewPublication, wanted);
  const manual = findManual(state, manualId);
  const publicationNumber = manual.publications.length + 1;
  manual.publications.push({
    publicationNumber,
    revisionNumber: manual.headRevision,
    audiences,
    note,
    createdAt: toInstant(clock.now()),
    pages: manual.pages
      .filter(({ audience }) => audiences.includes(audience))
      .map((page) => ({ page, revision: page.revisions.length })),
  });
  return { manualId, publicationNumber };
}

export function bindManual({ state }: Marketplace, manualId: string, wanted: NewBindings) {
  findManual(state, manualId).bindings = parseRequest(NewBindings, wanted).bindings;
  return { manualId };
}

/** From then on, the API has neither the manual nor its publications (spec: part B section 3). */
export function archiveManual({ state }: Marketplace, manualId: string) {
  const archived = findManual(state, manualId);
  for (const account of state.accounts.values()) account.manuals = account.manuals.filter((one) => one !== archived);
  return { manualId };
}

function findManual({ accounts }: Marketplace['state'], manualId: string): Manual {
  const manual = [...accounts.values()].flatMap(({ manuals }) => manuals).find(({ id }) => id === manualId);
  if (manual === undefined) throw new AppError('not_found', `No manual ${manualId}`);
  return manual;
}
