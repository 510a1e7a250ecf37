import { html } from 'hono/html';
import { maskText } from '../../lib/mask.ts';
import {
  countMissed,
  type ListedMissed,
  listMissed,
  type MissedCount,
} from '../../reconcile/read/missed-event-store.ts';
import { type MissedKind, missedKinds } from '../../reconcile/read/missed-events.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** What changed at the marketplace without a delivery that said so, until a reading found it. */
export const missedViews: readonly View<ConsoleParts>[] = [{ path: '/missed', show: showMissed }];

const pageSize = 100;

const descriptions: Record<MissedKind, string> = {
  start: 'a contract began',
  end: 'a contract ended',
  link: 'a project was linked',
  link_removed: 'a link was removed',
  joined: 'a trainer joined a contract',
  left: 'a trainer left a contract',
};

async function showMissed(asked: Asked, { database, installs }: ConsoleParts): Promise<Page> {
  const { query } = asked;
  const before = toRowId(query.get('before'));
  const filter = { install: chosen(query, 'install'), kind: chosenOf(query, 'kind', missedKinds), before };
  const found = await listMissed(database, { ...filter, limit: pageSize + 1 });
  const shown = found.slice(0, pageSize);
  return {
    title: 'What events missed',
    body: html`
      <p>
        Changes of the last month that a reading has found, and that no delivery had said before. No event tells of
        trainers who join or leave a contract that goes on.
      </p>
      ${filterForm(asked, [
        { name: 'install', label: 'install', options: [...installs.keys()].sort() },
        { name: 'kind', label: 'what', options: missedKinds },
      ])}
      ${tableOf('What a reading has found, the latest first', shown, columns, noMissed)}
      ${pager(asked, found.length > pageSize ? shown.at(-1)?.id : undefined)}
    `,
  };
}

const noMissed =
  'Readings have found nothing that events had not said. The first reading of a customer does not count.';

const columns: readonly Column<ListedMissed>[] = [
  ['found', ({ foundAt }) => instantOf(foundAt)],
  ['install', ({ install }) => install],
  ['what', ({ kind }) => descriptions[kind]],
  ['which', whichOf],
];

function whichOf({ contractId, linkId, trainerId }: ListedMissed): Html | string {
  if (contractId === null) return `link ${maskText(linkId ?? '')}`;
  const contract = html`<a href="/contracts/${encodeURIComponent(contractId)}">contract ${contractId}</a>`;
  if (trainerId === null) return contract;
  return html`<a href="/trainers/${encodeURIComponent(trainerId)}">trainer ${maskText(trainerId)}</a>, ${contract}`;
}

/** How much, over a day and a month, for the home page. */
export async function missedOf(
  { database, installs }: ConsoleParts,
  since: { month: string; day: string },
): Promise<Html> {
  const counts = (await countMissed(database, since)).filter(({ install }) => installs.has(install));
  return tableOf('What changed without an event that said so', counts, countColumns, noMissed);
}

const countColumns: readonly Column<MissedCount>[] = [
  ['customer', ({ install }) => install],
  [
    'what',
    ({ install, kind }) => html`<a href="/missed?${new URLSearchParams({ install, kind })}">${descriptions[kind]}</a>`,
  ],
  ['a day', ({ day }) => day, 'number'],
  ['30 days', ({ month }) => month, 'number'],
];
