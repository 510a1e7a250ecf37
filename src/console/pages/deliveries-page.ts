import { html } from 'hono/html';
import { type DeliveryState, deliveryStates } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';
import { eventTypes } from '../../domain/event.ts';
import type { ListedDelivery } from '../../inbox/inbox-store.ts';
import { mostReplayed, replayDeliveries, replayMatching } from '../../operator/replay-deliveries.ts';
import type { ConsoleParts } from '../console-parts.ts';
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
import { beforeIn, filterOf, idIn, nextPage, oneOf, textIn } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** The deliveries that were received, and how they were handled. */
export const deliveriesViews: readonly View<ConsoleParts>[] = [
  { path: '/deliveries', show: showDeliveries },
  { path: '/deliveries/:id', show: showDelivery },
  { path: '/deliveries/:id/body', show: downloadBody },
];

export const deliveriesActs: readonly Act<ConsoleParts>[] = [
  { path: '/deliveries/replay', act: replayFiltered },
  { path: '/deliveries/:id/replay', act: replayOne },
];

const pageSize = 50;

function filterIn(query: URLSearchParams) {
  return {
    install: textIn(query, 'install'),
    state: oneOf(deliveryStates, query, 'state'),
    type: textIn(query, 'type'),
  };
}

async function showDeliveries(asked: Asked, { inbox, installs }: ConsoleParts): Promise<Page> {
  const { query } = asked;
  const filter = filterIn(query);
  const deliveries = await inbox.list({ ...filter, before: beforeIn(query), limit: pageSize });
  const fields = [
    { name: 'state', label: 'State', values: deliveryStates },
    { name: 'type', label: 'Type', values: eventTypes },
    { name: 'install', label: 'Customer', values: [...installs.keys()].sort() },
  ];
  return {
    title: 'Deliveries',
    body: html`
      ${filterOf('/deliveries', fields, query)}
      ${tableOf('What the marketplace has delivered, the newest first', deliveries, columns, sayNone(query))}
      ${nextPage('/deliveries', query, deliveries.length === pageSize ? deliveries.at(-1)?.id : undefined)}
      ${deliveries.length > 0 && formOf(asked, '/deliveries/replay', replayForm(filter))}
    `,
  };
}

function sayNone(query: URLSearchParams): string {
  return query.size > 0
    ? 'No delivery matches this filter.'
    : 'Nothing was delivered yet. The marketplace delivers when a contract begins; "gangway doctor" says whether it can.';
}

type Filter = ReturnType<typeof filterIn>;

function replayForm(filter: Filter): Html {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined);
  return html`
    ${entries.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <p>
      <button>Replay all that match</button>
      <span class="quiet">The newest ${mostReplayed} at most. What was merged before changes nothing.</span>
    </p>
  `;
}

const columns: readonly Column<ListedDelivery>[] = [
  ['id', ({ id }) => html`<a href="/deliveries/${id}">${id}</a>`],
  ['received', ({ receivedAt }) => instantOf(receivedAt)],
  ['customer', ({ install }) => install],
  ['type', ({ eventType }) => eventType],
  ['state', ({ state }) => stateOf(state)],
  ['why', ({ failure }) => failure],
];

const looks: Record<DeliveryState, 'good' | 'quiet' | 'bad'> = {
  pending: 'quiet',
  handled: 'good',
  ignored: 'quiet',
  unprocessable: 'bad',
  failed: 'bad',
};

function stateOf(state: DeliveryState): Html {
  return html`<span class="${looks[state]}">${state}</span>`;
}

async function findDelivery({ params }: Asked, { inbox }: ConsoleParts): Promise<ListedDelivery> {
  const found = await inbox.find(idIn(params['id'], 'the delivery'));
  if (found === undefined) throw new AppError('not_found', 'There is no such delivery: retention may have deleted it');
  return found;
}

async function showDelivery(asked: Asked, parts: ConsoleParts): Promise<Page> {
  const delivery = await findDelivery(asked, parts);
  const { id, install, receivedAt, eventType, state, attempts, failure, deliveryId, headers } = delivery;
  const facts: [string, Html | string | number | null][] = [
    ['state', stateOf(state)],
    ['why', failure],
    ['customer', install],
    ['type', eventType],
    ['received', instantOf(receivedAt)],
    ['failed tries', attempts],
    ["marketplace's id", deliveryId],
  ];
  return {
    title: `Delivery ${id}`,
    body: html`
      <dl>
        ${facts.map(([name, value]) => (value === null ? '' : html`<dt>${name}</dt><dd>${value}</dd>`))}
      </dl>
      ${formOf(asked, `/deliveries/${id}/replay`, html`<p><button>Replay</button></p>`)}
      <h2>Body</h2>
      ${await showBody(id, parts)}
      <h2>Headers</h2>
      <pre>${headers}</pre>
    `,
  };
}

async function showBody(id: number, { inbox }: ConsoleParts): Promise<Html> {
  try {
    const body = (await inbox.findBody(id)) ?? Buffer.alloc(0);
    return html`<p><a href="/deliveries/${id}/body">Download, byte for byte</a> (${body.length} bytes)</p>
      <pre>${body.toString('utf8')}</pre>`;
  } catch (error) {
    // It was not kept, or its key is gone. The rest of the page is true all the same.
    if (!(error instanceof AppError)) throw error;
    return html`<p class="empty">${error.message}.</p>`;
  }
}

async function downloadBody(asked: Asked, parts: ConsoleParts): Promise<Download> {
  const { id } = await findDelivery(asked, parts);
  const content = (await parts.inbox.findBody(id)) ?? Buffer.alloc(0);
  return { fileName: `delivery-${id}`, type: 'application/octet-stream', content };
}

async function replayOne(asked: Asked, parts: ConsoleParts): Promise<Redirect> {
  const { id } = await findDelivery(asked, parts);
  await replayDeliveries({ ...parts, by: asked.by }, [id]);
  return { redirect: `/deliveries/${id}` };
}

/** Lands on the act, which names what was replayed and what was left. */
async function replayFiltered({ form, by }: Asked, parts: ConsoleParts): Promise<Redirect> {
  const { act } = await replayMatching({ ...parts, by }, filterIn(form));
  return { redirect: `/acts/${act}` };
}
