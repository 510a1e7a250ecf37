import { html } from 'hono/html';
import { type MembershipState, membershipStates } from '../../domain/membership.ts';
import { describeCause } from '../../domain/standing.ts';
import { maskText } from '../../lib/mask.ts';
import { type AccessFilter, pageMemberships } from '../../memberships/membership-list-store.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { Asked, Download, Html, Page, View } from '../page.ts';
import { toCsv } from '../view/csv.ts';
import { beforeIn, filterOf, nextPage, oneOf, textIn } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** Who has access to what, since when, and why. */
export const accessViews: readonly View<ConsoleParts>[] = [
  { path: '/access', show: showAccess },
  { path: '/access.csv', show: downloadAccess },
];

type Membership = Awaited<ReturnType<typeof pageMemberships>>[number];

const pageSize = 50;
/** A file has so many rows at most; a filter has the rest. */
const mostRows = 20_000;

function filterIn(query: URLSearchParams, { box }: ConsoleParts): Omit<AccessFilter, 'limit'> {
  const trainer = textIn(query, 'trainer');
  return {
    state: oneOf(membershipStates, query, 'state'),
    tool: textIn(query, 'tool'),
    install: textIn(query, 'install'),
    group: textIn(query, 'project'),
    trainer: trainer === undefined ? undefined : { text: trainer, digests: box.digests(trainer.toLowerCase()) },
    before: beforeIn(query),
  };
}

async function showAccess({ query }: Asked, parts: ConsoleParts): Promise<Page> {
  const { database, config, installs } = parts;
  const members = await pageMemberships(database.kysely, { ...filterIn(query, parts), limit: pageSize });
  const fields = [
    { name: 'trainer', label: 'Trainer (name, id or address)' },
    { name: 'project', label: 'Project' },
    { name: 'state', label: 'State', values: membershipStates },
    { name: 'tool', label: 'Tool', values: [...config.tools.keys()].sort() },
    { name: 'install', label: 'Customer', values: [...installs.keys()].sort() },
  ];
  return {
    title: 'Access',
    body: html`
      ${filterOf('/access', fields, query)}
      ${tableOf('Trainers and projects, the newest first', members, columns, sayNone(query))}
      ${nextPage('/access', query, members.length === pageSize ? members.at(-1)?.id : undefined)}
      ${members.length > 0 && html`<p><a href="/access.csv?${query}">This list as CSV</a> (${mostRows} rows at most)</p>`}
    `,
  };
}

function sayNone(query: URLSearchParams): string {
  return query.size > 0
    ? 'No membership matches this filter.'
    : 'No trainer is in a project yet. One appears when a contract begins whose job is linked to a project.';
}

const columns: readonly Column<Membership>[] = [
  ['trainer', (member) => html`<a href="/trainers/${encodeURIComponent(member.trainerId)}">${nameOf(member)}</a>`],
  ['project', ({ groupId }) => groupId],
  ['tool', ({ tool }) => tool],
  ['customer', ({ install }) => install],
  ['state', ({ state }) => stateOf(state)],
  ['since', ({ updatedAt }) => instantOf(updatedAt)],
  ['why', (member) => whyOf(member)],
  ['until', ({ removeAfter }) => instantOf(removeAfter)],
];

/** Strangers choose names, and may choose an address for one. */
function nameOf({ displayName, trainerId }: Pick<Membership, 'displayName' | 'trainerId'>): string {
  return displayName === null || displayName.trim() === '' ? trainerId : maskText(displayName);
}

const looks: Partial<Record<MembershipState, string>> = {
  active: 'good',
  failed: 'bad',
  held: 'warn',
  orphaned: 'warn',
};

export function stateOf(state: MembershipState): Html {
  return html`<span class="${looks[state] ?? 'quiet'}">${state}</span>`;
}

export function whyOf({ failure, cause, contracts, wanted }: Membership): string {
  if (failure !== null) return maskText(failure);
  if (wanted === 1) return contracts.length === 0 ? '' : `contract ${contracts.join(', ')}`;
  return cause === null ? '' : describeCause(cause);
}

async function downloadAccess({ query }: Asked, parts: ConsoleParts): Promise<Download> {
  const members = await pageMemberships(parts.database.kysely, { ...filterIn(query, parts), limit: mostRows });
  const head = ['trainer', 'trainer id', 'project', 'tool', 'customer', 'state', 'since', 'why', 'until'];
  const rows = members.map((one) => [
    nameOf(one),
    one.trainerId,
    one.groupId,
    one.tool,
    one.install,
    one.state,
    one.updatedAt,
    whyOf(one),
    one.removeAfter,
  ]);
  return { fileName: 'access.csv', type: 'text/csv; charset=utf-8', content: toCsv([head, ...rows]) };
}
