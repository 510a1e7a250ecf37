import { html } from 'hono/html';
import { membershipStates } from '../../domain/membership.ts';
import { maskText } from '../../lib/mask.ts';
import { writeCsv } from '../../lib/write-csv.ts';
import { type Access, type AccessFilter, listAccess } from '../../memberships/access-list-store.ts';
import { type LeavingKey, leavingKeyOf } from '../../memberships/membership-list-store.ts';
import { problemOf, projectsOf, reasonOf, untilOf } from '../../operations/access.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Asked, Download, Page, View } from '../page.ts';
import { accessColumns, nameOf } from '../view/access-cells.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { tableOf } from '../view/table.ts';

/** Which trainer is in which project, or was, and why. */
export const accessViews: readonly View[] = [
  { path: '/access', show: showAccess },
  { path: '/access.csv', show: downloadAccess },
];

const pageSize = 100;
const yes = ['yes'] as const;
/** So many rows a file has at most, read in ctx. */
const mostRows = 100_000;
const partSize = 5000;

async function showAccess(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { database, installs, config } = ctx;
  const filter = toFilter(asked, ctx);
  const before = toRowId(asked.query.get('before'));
  const afterLeaving = filter.isLeaving ? toLeavingKey(asked.query.get('after')) : undefined;
  const found = await listAccess(database.kysely, { ...filter, before, afterLeaving, limit: pageSize + 1 });
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  const order = filter.isLeaving ? 'Who is about to leave, the soonest first' : 'Who has access where, newest first';
  const file = `/access.csv?${asked.query}`;
  return {
    title: 'Access',
    acts: shown.length > 0 ? html`<a class="button" href="${file}">Export CSV</a>` : '',
    body: html`
      ${filterForm(asked, [
        { name: 'q', label: 'Trainer, project or work email' },
        { name: 'state', label: 'State', options: membershipStates },
        { name: 'install', label: 'Customer', options: [...installs.keys()].sort() },
        { name: 'tool', label: 'Tool', options: [...config.tools.keys()].sort() },
        { name: 'project', label: 'Project id' },
        { name: 'leaving', label: 'Leaving', options: yes },
      ])}
      ${tableOf(order, shown, accessColumns, whenEmpty(asked))}
      ${filter.isLeaving ? pager(asked, last && sayLeavingKey(last), 'after') : pager(asked, last?.id)}
    `,
  };
}

function sayLeavingKey(access: Access): string {
  const { leavesAt, id } = leavingKeyOf(access);
  return `${leavesAt}/${id}`;
}

function toLeavingKey(text: string | null): LeavingKey | undefined {
  const [, leavesAt = '', id] = /^(held|[\d:.TZ-]*)\/([1-9]\d{0,14})$/.exec(text ?? '') ?? [];
  return id === undefined ? undefined : { leavesAt, id: Number(id) };
}

function whenEmpty({ query }: Asked): string {
  return [...query.values()].some((value) => value !== '')
    ? 'No trainer matches. Remove a filter, or show all.'
    : 'Nobody has access yet. Trainers appear here when a contract begins whose job is linked to a project.';
}

function toFilter({ query }: Asked, { box }: OperationContext): Omit<AccessFilter, 'limit'> {
  const text = chosen(query, 'q');
  return {
    state: chosenOf(query, 'state', membershipStates),
    install: chosen(query, 'install'),
    tool: chosen(query, 'tool'),
    project: chosen(query, 'project'),
    isLeaving: chosenOf(query, 'leaving', yes) !== undefined,
    search: text === undefined ? undefined : { text, digest: box.digest(text.toLowerCase()) },
  };
}

async function downloadAccess(asked: Asked, ctx: OperationContext): Promise<Download> {
  const filter = toFilter(asked, ctx);
  const rows: (readonly (string | null)[])[] = [titles];
  let position: Pick<AccessFilter, 'before' | 'afterLeaving'> = {};
  while (rows.length <= mostRows) {
    const limit = Math.min(partSize, mostRows + 1 - rows.length);
    const part = await listAccess(ctx.database.kysely, { ...filter, ...position, limit });
    rows.push(...part.map(toCells));
    const last = part.at(-1);
    if (last === undefined || part.length < limit) break;
    position = filter.isLeaving ? { afterLeaving: leavingKeyOf(last) } : { before: last.id };
  }
  return { fileName: 'access.csv', type: 'text/csv; charset=utf-8', content: writeCsv(rows) };
}

const titles = [
  'trainer',
  'trainer id',
  'project',
  'tool',
  'group',
  'install',
  'state',
  'since',
  'reason',
  'problem',
  'until',
];

function toCells(access: Access): (string | null)[] {
  const { trainerId, tool, groupId, install, state, updatedAt } = access;
  return [
    nameOf(access),
    maskText(trainerId),
    maskText(projectsOf(access).join('; ')),
    tool,
    maskText(groupId),
    install,
    state,
    updatedAt,
    maskText(reasonOf(access)),
    maskText(problemOf(access) ?? ''),
    untilOf(access),
  ];
}
