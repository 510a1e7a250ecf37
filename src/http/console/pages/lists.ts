import { html } from 'hono/html';
import { type Access, accessColumns } from '../../../operations/access.ts';
import { operationOf } from '../../../operations/all.ts';
import { contractColumns, type ListedContract } from '../../../operations/contracts.ts';
import { fieldsOf } from '../../../operations/input.ts';
import type { Operation } from '../../../operations/operation.ts';
import { longestPage } from '../../../operations/paging.ts';
import type { Columns, TableShow } from '../../../operations/show.ts';
import { toCsv } from '../../../operations/text-table.ts';
import type { ConsoleContext, Download, Html, Page, PageRequest, Redirect, View } from '../page.ts';
import { actButton, ask, askLink, inputIn, toPlain } from '../run-operation.ts';
import { type FormField, filterForm, pager } from '../view/form.ts';
import { type HtmlColumn, panelOf, tableOf } from '../view/table.ts';

/** The lists of the console. The filter, columns and paging of each come from its operation. */
export const lists: readonly View[] = [
  { path: '/access', title: 'Access', asks: 'accessSearch', filter: ['q', 'state', 'install', 'tool', 'leaving'] },
  {
    path: '/contracts',
    title: 'Contracts',
    asks: 'contractsList',
    filter: ['install', 'status', 'budget', 'suspects'],
  },
  {
    path: '/deliveries',
    title: 'Deliveries',
    asks: 'deliveriesList',
    below: (request: PageRequest) => {
      const given = Object.fromEntries([...request.query].filter(([name, value]) => name !== 'cursor' && value !== ''));
      const button = { label: 'Replay all that match, 1,000 at most' };
      return actButton(request, 'deliveriesReplay', { ...given, matching: true }, button);
    },
  },
  { path: '/budgets', title: 'Budgets', asks: 'budgetsList' },
  {
    path: '/hires',
    title: 'Hires',
    asks: 'hireList',
    acts: ({ operator }: PageRequest) =>
      operator.role === 'operator' ? html`<a class="button main" href="/hires/new">New hire</a>` : '',
  },
  { path: '/plans', title: 'Removals on hold', asks: 'plansList' },
  {
    path: '/drift',
    title: 'Drift',
    asks: 'driftList',
    intro:
      'How the members of each group differ from the memberships that Gangway knows, by the latest complete listing. Nobody is removed for being listed here, except someone whom Gangway removed before and who is back.',
    acts: () => html`<a class="button" href="/drift/groups">Groups</a>`,
  },
  { path: '/drift/groups', title: 'Listed groups', asks: 'driftGroups' },
  {
    path: '/installs',
    title: 'Customers',
    asks: 'installsList',
    acts: ({ operator }: PageRequest) =>
      operator.role === 'operator' ? html`<a class="button main" href="/connect">Connect a customer</a>` : '',
  },
  {
    path: '/invitations',
    title: 'Invitations',
    asks: 'membersWaiting',
    intro: 'An invitation is shown once. Open it when you are ready to send it on.',
    rowActs: (request: PageRequest) => [
      ['send', (member: WaitingMember) => sendOf(request, member)] satisfies HtmlColumn<WaitingMember>,
    ],
  },
  { path: '/notifications', title: 'Alerts', asks: 'notificationsList' },
  { path: '/acts', title: 'Audit log', asks: 'auditList' },
].flatMap(listViews);

interface WaitingMember {
  id: number;
  trainerId: string;
  waitsFor: string;
}

function sendOf(request: PageRequest, { id, waitsFor, trainerId }: WaitingMember) {
  if (waitsFor === 'renewal') return askLink(request, 'membersRenew', { membership: String(id) }, 'Renew');
  if (waitsFor !== 'operator' && waitsFor !== 'mail') return '';
  const about = `Show once: the invitation of ${trainerId}`;
  return actButton(request, 'membersInvitation', { membership: id }, { label: 'Show once', about });
}

interface List {
  path: string;
  title: string;
  /** The operation's id. */
  asks: string;
  /** The fields of the filter, in order; all by default. */
  filter?: readonly string[];
  intro?: string;
  /** Beside the title. */
  acts?(request: PageRequest): Html | string;
  /** Below a list that is not empty. */
  below?(request: PageRequest): Html | string;
  /** Buttons in each row. */
  rowActs?(request: PageRequest): readonly HtmlColumn<never>[];
}

/** The most rows of a CSV file. */
const mostRows = 100_000;

interface Items {
  items: readonly object[];
  next: string | null;
}

function listViews(list: List): View[] {
  const { path } = list;
  return [
    { path, show: (request, ctx) => showList(list, request, ctx) },
    { path: `${path}.csv`, show: (request, ctx) => download(list, request, ctx) },
  ];
}

async function showList(list: List, request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const { title, intro, acts, below, rowActs } = list;
  const operation = operationOf(list.asks);
  const { columns, whenEmpty, rowsOf } = operation.show as TableShow<object>;
  const answer = await ask<Partial<Items>>(request, ctx, list.asks, inputIn(operation, request.query));
  const rows = rowsOf(answer);
  const fields = filterOf(operation, request, ctx, list.filter);
  const more = (rowActs?.(request) ?? []) as readonly HtmlColumn<object>[];
  return {
    title,
    acts: html`
      ${acts?.(request)} ${rows.length > 0 && html`<a class="button" href="${list.path}.csv?${request.query}">Export CSV</a>`}
    `,
    body: html`
      ${intro && html`<p>${intro}</p>`}
      ${fields.length > 0 && filterForm(request, fields)}
      ${tableOf(operation.summary, rows, columns, whenEmpty, request.operator.role === 'operator' ? more : [])}
      ${pager(request, answer.next ?? null)}
      ${rows.length > 0 && below?.(request)}
    `,
  };
}

/** The fields of a page's filter. @param names in order; by default all except those of paging */
export function filterOf(
  operation: Operation,
  { query }: PageRequest,
  { installs, config }: ConsoleContext,
  names?: readonly string[],
): FormField[] {
  const fields = fieldsOf(operation.in);
  const chosen = names ?? [...fields.keys()].filter((name) => name !== 'limit' && name !== 'cursor');
  return chosen.flatMap((name) => {
    const field = fields.get(name);
    if (field === undefined) return [];
    const configured = { install: installs, tool: config.tools }[name];
    const choices = configured === undefined ? field.choices : [...configured.keys()].sort();
    return [{ ...field, choices, name, value: query.get(name)?.slice(0, 500) ?? '' }];
  });
}

async function download({ asks, path }: List, request: PageRequest, ctx: ConsoleContext): Promise<Download> {
  const operation = operationOf(asks);
  const { columns, rowsOf } = operation.show as TableShow<object>;
  const input = inputIn(operation, request.query);
  const rows: object[] = [];
  let cursor: string | null = null;
  do {
    const page: Partial<Items> = await ask(request, ctx, asks, {
      ...input,
      ...('next' in operation.out.shape && { limit: longestPage, ...(cursor && { cursor }) }),
    });
    rows.push(...rowsOf(page));
    cursor = page.next ?? null;
  } while (cursor !== null && rows.length < mostRows);
  return fileOf(path.slice(1), rows, columns);
}

export function fileOf<Row>(name: string, rows: readonly Row[], columns: Columns<Row>): Download {
  return { fileName: `${name.replace('/', '-')}.csv`, type: 'text/csv; charset=utf-8', content: toCsv(rows, columns) };
}

const limit = 25;

/** One search across people, work emails, projects and contracts. */
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
