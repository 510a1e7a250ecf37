import { html } from 'hono/html';
import { type Access, accessColumns } from '../../operations/access.ts';
import { contractColumns, type ListedContract } from '../../operations/contracts.ts';
import { ask, toPlain } from '../ask.ts';
import type { ConsoleContext, Page, PageRequest, Redirect } from '../page.ts';
import { panelOf } from '../view/cells.ts';
import { tableOf } from '../view/table.ts';

const limit = 25;

/** One search over people, work emails, projects and contracts. */
export async function search(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const q = toPlain(request.query.get('q') ?? '').slice(0, 200);
  if (q === '') return { redirect: '/access' };
  const access = await ask<{ items: Access[]; next: string | null }>(request, ctx, 'accessSearch', { q, limit });
  const contracts = await ask<{ items: ListedContract[] }>(request, ctx, 'contractsList', { q, limit });
  const more = access.next !== null && html`<a href="/access?${new URLSearchParams({ q })}">All of them</a>`;
  return {
    title: `Search: ${q}`,
    body: html`
      ${panelOf('People and projects', tableOf('People and projects', access.items, accessColumns, 'No person and no project matches.'), more || '')}
      ${panelOf('Contracts', tableOf('Contracts', contracts.items, contractColumns, 'No contract matches.'))}
    `,
  };
}
