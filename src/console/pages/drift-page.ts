import { html } from 'hono/html';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { type DriftSide, describeFinding, driftSides, sayNext } from '../../operator/describe-drift.ts';
import {
  type FindingFilter,
  type ListedFinding,
  type ListedGroupDrift,
  listFindings,
  listGroupDrifts,
} from '../../reconcile/drift/finding-store.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { trainerLink } from '../view/access-cells.ts';
import { chosen, chosenOf, filterForm, pager } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** Who is in a tool and should not be, and who should be and is not, by name. */
export const driftViews: readonly View[] = [{ path: '/drift', show: showDrift }];

const sides = ['missing', 'extra', 'changed'] as const satisfies readonly DriftSide[];
const pageSize = 100;
/** So many groups a page names. */
const mostGroups = 200;

const titles: Record<DriftSide, string> = {
  missing: 'Should be in and are not',
  extra: 'Are in and have no reason',
  changed: 'Are in as another account than is known',
};

async function showDrift(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { query } = asked;
  const filter = { tool: chosen(query, 'tool'), groupId: chosen(query, 'group') };
  const side = chosenOf(query, 'side', sides);
  const groups = await listGroupDrifts(ctx, { ...filter, limit: mostGroups });
  return {
    title: 'Drift',
    body: html`
      <p>
        How the members of each group differ from the known memberships, by the latest complete listing. Being listed here
        removes no member, except one that Gangway removed before and that is back: that member is removed again after the
        grace period, subject to the brake.
      </p>
      ${filterForm(asked, [
        { name: 'tool', label: 'tool', options: [...ctx.config.tools.keys()].sort() },
        { name: 'group', label: 'group' },
        { name: 'side', label: 'only', options: sides },
      ])}
      ${await Promise.all(sides.filter((one) => side === undefined || side === one).map((one) => sideOf(asked, ctx, filter, one)))}
      <h2>Groups</h2>
      ${tableOf('The groups that were listed, and how much differs', groups, groupColumns, noGroups)}
      ${groups.length === mostGroups && html`<p class="quiet">Further groups are left out: choose a tool or a group.</p>`}
    `,
  };
}

const noGroups =
  'No group was listed yet. One appears after a trainer was let into it and its customer was read again, if its tool can list members.';

async function sideOf(
  asked: Asked,
  ctx: OperationContext,
  filter: Pick<FindingFilter, 'tool' | 'groupId'>,
  side: DriftSide,
): Promise<Html> {
  const { query } = asked;
  const isAlone = query.get('side') === side;
  const after = isAlone ? toKey(query.get('after')) : undefined;
  const found = await listFindings(ctx, { ...filter, kinds: driftSides[side], after, limit: pageSize + 1 });
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  return html`<h2>${titles[side]}</h2>
    ${tableOf(titles[side], shown, columnsFor(asked), 'None, as far as the groups were listed.')}
    ${pager(onlyOf(asked, side), last && toAfter(last), 'after')}`;
}

/** Addresses are for operators. */
function columnsFor({ operator }: Asked): readonly Column<ListedFinding>[] {
  return [
    ['who', (found) => whoOf(found, operator.role === 'operator')],
    ['group', ({ groupId }) => maskText(groupId)],
    ['tool', ({ tool }) => tool],
    ['what', ({ kind }) => describeFinding[kind]],
    ['since', ({ since }) => instantOf(since)],
    ['listed for', ({ install, listedAt }) => html`${install}, ${instantOf(listedAt)}`],
    ['now', nowOf],
    ['next', sayNext],
  ];
}

function whoOf({ member, account }: ListedFinding, seesAddresses: boolean): Html | string {
  if (member !== null) return trainerLink(member);
  if (account === null) return '(cannot be read)';
  const { id, email, name } = account;
  const said = [name, email, `id ${id}`].filter((one) => one !== null && one !== '').join(', ');
  return seesAddresses ? said : maskText(said);
}

function nowOf({ member, membershipId }: ListedFinding): Html | string {
  if (member === null || membershipId === null) return '';
  return html`<a href="/memberships/${membershipId}">${member.state}</a>`;
}

const groupColumns: readonly Column<ListedGroupDrift>[] = [
  [
    'group',
    ({ tool, groupId }) =>
      html`<a href="/drift?${new URLSearchParams({ tool, group: groupId })}">${maskText(groupId)}</a>`,
  ],
  ['tool', ({ tool }) => tool],
  ['listed for', ({ install }) => install],
  ['at', ({ listedAt }) => instantOf(listedAt)],
  ['members', ({ listed }) => listed, 'number'],
  ['missing', ({ counts }) => countOf(counts, 'missing'), 'number'],
  ['without a reason', ({ counts, unkept }) => countOf(counts, 'extra') + unkept, 'number'],
  ['as another account', ({ counts }) => countOf(counts, 'changed'), 'number'],
  ['not listed here', ({ unkept }) => unkept || '', 'number'],
];

function countOf(counts: ListedGroupDrift['counts'], side: DriftSide): number {
  return driftSides[side].reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
}

/** The last row of the page before, as `toAfter` writes it. */
function toKey(text: string | null): FindingFilter['after'] {
  const [id = '', kind = '', tool = '', ...group] = (text ?? '')
    .replaceAll(/\p{Cc}/gu, '')
    .toWellFormed()
    .split(' ');
  return tool === '' ? undefined : { id, kind, tool, groupId: group.join(' ') };
}

function toAfter({ id, kind, tool, groupId }: ListedFinding): string {
  return [id, kind, tool, groupId].join(' ');
}

/** One side has pages only where it is shown alone. */
function onlyOf({ path, query }: Asked, side: DriftSide): Pick<Asked, 'path' | 'query'> {
  const alone = new URLSearchParams(query);
  if (query.get('side') !== side) alone.delete('after');
  alone.set('side', side);
  return { path, query: alone };
}
