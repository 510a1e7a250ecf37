import { html } from 'hono/html';
import { type FoundContract, searchContracts } from '../../evidence/contract-search-store.ts';
import { maskText } from '../../lib/mask.ts';
import { listAccess } from '../../memberships/access-list-store.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Asked, Page, Redirect, View } from '../page.ts';
import { accessColumns } from '../view/access-cells.ts';
import { chosen } from '../view/filter.ts';
import { panelOf } from '../view/panel.ts';
import { type Column, tableOf } from '../view/table.ts';

/** One search over people, work emails, projects and contracts. */
export const searchViews: readonly View[] = [{ path: '/search', show: search }];

const mostFound = 25;

async function search({ query }: Asked, ctx: OperationContext): Promise<Page | Redirect> {
  const text = chosen(query, 'q');
  if (text === undefined) return { redirect: '/access' };
  const digest = ctx.box.digest(text.toLowerCase());
  const access = await listAccess(ctx.database.kysely, { search: { text, digest }, limit: mostFound });
  const contracts = await searchContracts(ctx, text, mostFound);
  const more = html`<a href="/access?${new URLSearchParams({ q: text })}">All of them</a>`;
  return {
    title: `Search: ${text}`,
    body: html`
      ${panelOf(
        'People and projects',
        tableOf('People and projects', access, accessColumns, 'No person and no project matches.'),
        access.length === mostFound ? more : '',
      )}
      ${panelOf('Contracts', tableOf('Contracts', contracts, contractColumns, 'No contract matches.'))}
    `,
  };
}

const contractColumns: readonly Column<FoundContract>[] = [
  [
    'Contract',
    ({ contractId, title }) =>
      html`<a href="/contracts/${encodeURIComponent(contractId)}">${title === null ? contractId : maskText(title)}</a
        ><small class="id">${contractId}</small>`,
  ],
  ['Customer', ({ install }) => install],
];
