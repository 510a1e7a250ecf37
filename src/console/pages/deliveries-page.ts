import { html } from 'hono/html';
import { findAct } from '../../db/audit-store.ts';
import { deliveryStates } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';
import { eventTypes } from '../../domain/event.ts';
import {
  type DeliveryFilter,
  type ListedDelivery,
  listDeliveries,
  listDeliveriesIn,
  listDeliveryIds,
} from '../../inbox/delivery-list-store.ts';
import { readEvent } from '../../inbox/event-schema.ts';
import { findBody, findDelivery } from '../../inbox/inbox-store.ts';
import { maskText } from '../../lib/mask.ts';
import { listAccess } from '../../memberships/access-list-store.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { mostReplayed, readReplayed, replayDeliveries, replayMatching } from '../../operator/replay-deliveries.ts';
import {
  type Act,
  type Asked,
  type Download,
  formOf,
  type Html,
  type Page,
  type Redirect,
  type View,
} from '../page.ts';
import { accessColumns } from '../view/access-cells.ts';
import { stateBadge } from '../view/badge.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What came in, what became of it, and having it looked at again. */
export const deliveryViews: readonly View[] = [
  { path: '/deliveries', show: showDeliveries },
  { path: '/deliveries/:id', show: showDelivery },
  { path: '/deliveries/:id/body', show: downloadBody },
  { path: '/deliveries/replays/:id', show: showReplay },
];

export const deliveryActs: readonly Act[] = [
  { path: '/deliveries/replay', act: replayAll },
  { path: '/deliveries/:id/replay', act: replayOne },
];

const pageSize = 100;
const filterNames = ['state', 'install', 'type', 'since', 'until'] as const;

async function showDeliveries(asked: Asked, ctx: OperationContext): Promise<Page> {
  const filter = toFilter(asked.query);
  const before = toRowId(asked.query.get('before'));
  const found = await listDeliveries(ctx.database.kysely, { ...filter, before, limit: pageSize + 1 });
  const shown = found.slice(0, pageSize);
  return {
    title: 'Deliveries',
    body: html`
      ${filterForm(asked, [
        { name: 'state', label: 'state', options: deliveryStates },
        { name: 'install', label: 'install', options: [...ctx.installs.keys()].sort() },
        { name: 'type', label: 'type', options: eventTypes },
        { name: 'since', label: 'received from', type: 'date' },
        { name: 'until', label: 'received until', type: 'date' },
      ])}
      ${tableOf('What the marketplace sent, the newest first', shown, columns, noDeliveries)}
      ${pager(asked, found.length > pageSize ? shown.at(-1)?.id : undefined)}
      ${shown.length > 0 && (await replayForm(asked, ctx, filter))}
    `,
  };
}

const noDeliveries = 'There is no such delivery. One appears when the marketplace sends an event to an install.';

const columns: readonly Column<ListedDelivery>[] = [
  ['delivery', ({ id }) => html`<a href="/deliveries/${id}">delivery ${id}</a>`],
  ['received', ({ receivedAt }) => instantOf(receivedAt)],
  ['install', ({ install }) => install],
  ['type', ({ eventType }) => eventType ?? 'unknown'],
  ['about', ({ subjectId }) => (subjectId === null ? '' : maskText(subjectId))],
  ['state', ({ state }) => stateBadge(state)],
  ['tries', ({ attempts }) => attempts, 'number'],
  ['why', ({ failure }) => (failure === null ? '' : maskText(failure))],
];

async function replayForm(asked: Asked, { database }: OperationContext, filter: Filter): Promise<Html | string> {
  if (asked.operator.role !== 'operator') return '';
  const { length } = await listDeliveryIds(database.kysely, { ...filter, limit: mostReplayed + 1 });
  const which = length > mostReplayed ? `the newest ${mostReplayed} that match` : `all ${length} that match`;
  const fields = filterNames.map((name) => {
    const value = chosen(asked.query, name);
    return value === undefined ? '' : html`<input type="hidden" name="${name}" value="${value}" />`;
  });
  return formOf(asked, '/deliveries/replay', html`${fields}<button>Replay ${which}</button>`);
}

type Filter = Omit<DeliveryFilter, 'limit' | 'before'>;

function toFilter(query: URLSearchParams): Filter {
  return {
    state: chosenOf(query, 'state', deliveryStates),
    install: chosen(query, 'install'),
    type: chosen(query, 'type'),
    since: toDayEdge(chosen(query, 'since'), '00:00:00.000'),
    until: toDayEdge(chosen(query, 'until'), '23:59:59.999'),
  };
}

function toDayEdge(day: string | undefined, time: string): string | undefined {
  if (day === undefined) return undefined;
  const at = `${day}T${time}Z`;
  if (/^\d{4}-\d\d-\d\d$/.test(day) && Number.isFinite(Date.parse(at))) return at;
  throw new AppError('invalid', 'A day is written like 2026-03-15');
}

async function showDelivery(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { database } = ctx;
  const delivery = await findIn(ctx, asked);
  const { id, install, deliveryId, eventType, receivedAt, state, attempts, failure } = delivery;
  const body = await readBody(id, ctx);
  const named = Buffer.isBuffer(body) ? toNamed(body) : undefined;
  const led = named && (await listLedTo(database.kysely, named));
  const replay = html`<button>Replay this delivery</button>`;
  return {
    title: `Delivery ${id}`,
    body: html`
      <dl>
        <dt>Received</dt>
        <dd>${instantOf(receivedAt)}</dd>
        <dt>Install</dt>
        <dd>${install}</dd>
        <dt>Type</dt>
        <dd>${eventType ?? 'unknown'}</dd>
        <dt>Id of the sender</dt>
        <dd>${maskText(deliveryId ?? 'none')}</dd>
        <dt>State</dt>
        <dd>${state}, after ${attempts} failed tries</dd>
        <dt>Why</dt>
        <dd>${maskText(failure ?? 'nothing failed')}</dd>
      </dl>
      ${Buffer.isBuffer(body) && formOf(asked, `/deliveries/${id}/replay`, replay)}
      <h2>What it led to</h2>
      ${named && linksOf(named)}
      ${tableOf('Memberships of what it names', led ?? [], accessColumns, noMemberships)}
      <h2>The body</h2>
      ${bodyOf(asked, id, body)}
    `,
  };
}

const noMemberships = 'It led to no membership. One appears when an event names a trainer, a contract and a project.';

/** @returns why there is no body, if there is none: it was not kept, or its key is gone */
async function readBody(id: number, ctx: OperationContext): Promise<Buffer | string> {
  try {
    return (await findBody(ctx, id)) ?? 'The body is gone';
  } catch (error) {
    // The rest of the page is true all the same.
    if (!(error instanceof AppError)) throw error;
    return error.message;
  }
}

function bodyOf({ operator }: Asked, id: number, body: Buffer | string): Html {
  if (!Buffer.isBuffer(body)) return html`<p class="empty">${body}.</p>`;
  return html`
    <p class="quiet">Addresses and tokens are masked here.</p>
    <pre>${maskText(body.toString('utf8'))}</pre>
    ${operator.role === 'operator' && html`<p><a href="/deliveries/${id}/body">Download the body as it came in</a></p>`}
  `;
}

interface Named {
  contractId: string | undefined;
  trainerId: string | undefined;
}

function toNamed(body: Buffer): Named {
  const read = readEvent(body);
  if (read.outcome !== 'event') return { contractId: undefined, trainerId: undefined };
  return { contractId: read.event.contract?.id, trainerId: read.event.trainer?.id ?? undefined };
}

async function listLedTo(kysely: OperationContext['database']['kysely'], { contractId, trainerId }: Named) {
  return contractId === undefined ? [] : await listAccess(kysely, { contractId, trainerId, limit: pageSize });
}

function linksOf({ contractId, trainerId }: Named): Html {
  return html`<p>
    ${contractId === undefined ? '' : html`<a href="/contracts/${encodeURIComponent(contractId)}">The contract</a>`}
    ${trainerId === undefined ? '' : html`<a href="/trainers/${encodeURIComponent(trainerId)}">The trainer</a>`}
  </p>`;
}

/** The body has addresses, so a viewer does not get it. */
async function downloadBody(asked: Asked, ctx: OperationContext): Promise<Download> {
  const { id } = await findIn(ctx, asked);
  if (asked.operator.role !== 'operator') throw new AppError('forbidden', 'A viewer sees the body masked');
  const content = await findBody(ctx, id);
  if (content === undefined) throw new AppError('not_found', 'There is no such delivery');
  return { fileName: `delivery-${id}`, type: 'application/octet-stream', content };
}

async function replayOne(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const { id } = await findIn(ctx, asked);
  await replayDeliveries(ctx, asked.by, { ids: [id] });
  return { redirect: `/deliveries/${id}` };
}

async function replayAll({ form, by }: Asked, ctx: OperationContext): Promise<Redirect> {
  const chosenBy = filterNames.flatMap((name) => {
    const value = chosen(form, name);
    return value === undefined ? [] : [`${name}=${maskText(value)}`];
  });
  const { act } = await replayMatching(ctx, by, toFilter(form), chosenBy.join(' ') || 'any');
  return { redirect: `/deliveries/replays/${act}` };
}

/** The results of a replay, with what has become of each delivery since. */
async function showReplay({ params }: Asked, ctx: OperationContext): Promise<Page> {
  const id = toRowId(params['id']);
  const act = id === undefined ? undefined : await findAct(ctx.database, id);
  if (act === undefined || act.action !== 'deliveries replay') {
    throw new AppError('not_found', 'There is no such replay');
  }
  const { replayed, left } = readReplayed(act.after);
  const { kysely } = ctx.database;
  return {
    title: `Replay ${act.id}`,
    body: html`
      <p>${act.actor} replayed ${act.subject}, at ${instantOf(act.at)}.</p>
      ${tableOf('Replayed, and what became of it since', await listDeliveriesIn(kysely, replayed), columns, 'Nothing was replayed.')}
      ${tableOf(
        'Left as they are: of a type that nothing uses, whose body was not kept',
        await listDeliveriesIn(kysely, left),
        columns,
        'None was left as it was.',
      )}
    `,
  };
}

async function findIn(ctx: OperationContext, { params }: Asked): Promise<ListedDelivery> {
  const id = toRowId(params['id']);
  const delivery = id === undefined ? undefined : await findDelivery(ctx, id);
  if (delivery === undefined) throw new AppError('not_found', 'There is no such delivery');
  return delivery;
}
