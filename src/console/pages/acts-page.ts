import { html } from 'hono/html';
import { type Act as AuditedAct, findAct, listActs } from '../../db/audit-store.ts';
import { AppError } from '../../domain/errors.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { chosen, filterForm, pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** The audit log: what operators decided, who of them, from where, and what it changed. */
export const actsViews: readonly View[] = [
  { path: '/acts', show: showActs },
  { path: '/acts/:id', show: showAct },
];

const pageSize = 50;

async function showActs(asked: Asked, { database }: OperationContext): Promise<Page> {
  const actor = chosen(asked.query, 'actor');
  const before = toRowId(asked.query.get('before'));
  const found = await listActs(database, { actor, before, limit: pageSize + 1 });
  const acts = found.slice(0, pageSize);
  const whenEmpty =
    actor === undefined
      ? 'No operator has decided anything. What is done here or on the command line appears in this list.'
      : 'No such operator has decided anything.';
  return {
    title: 'Audit log',
    body: html`
      ${filterForm(asked, [{ name: 'actor', label: 'who' }])}
      ${tableOf('What operators decided, the newest first', acts, columns, whenEmpty)}
      ${pager(asked, found.length > pageSize ? acts.at(-1)?.id : undefined)}
    `,
  };
}

const columns: readonly Column<AuditedAct>[] = [
  ['what', ({ id, action }) => html`<a href="/acts/${id}">${action}</a>`],
  ['about', ({ subject }) => shorten(subject)],
  ['who', ({ actor }) => html`<a href="/acts?${new URLSearchParams({ actor })}">${actor}</a>`],
  ['from', ({ origin }) => origin],
  ['at', ({ at }) => instantOf(at)],
];

async function showAct({ params }: Asked, { database }: OperationContext): Promise<Page> {
  const id = toRowId(params['id']);
  const act = id === undefined ? undefined : await findAct(database, id);
  if (act === undefined) throw new AppError('not_found', 'There is no such act');
  const { action, subject, actor, origin, at, before, after } = act;
  return {
    title: `${action} (act ${act.id})`,
    body: html`
      <dl>
        <dt>about</dt>
        <dd>${subject}</dd>
        <dt>who</dt>
        <dd>${actor}</dd>
        <dt>from</dt>
        <dd>${origin}</dd>
        <dt>at</dt>
        <dd>${instantOf(at)}</dd>
      </dl>
      ${textOf('Before', before)} ${textOf('After', after)}
      <p><a href="/acts">All acts</a></p>
    `,
  };
}

function textOf(title: string, text: string | null): Html | string {
  if (text === null) return '';
  return html`<h2>${title}</h2>
    <pre>${text}</pre>`;
}

/** The whole of it is on the page of the act. */
function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
