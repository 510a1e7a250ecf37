import { hash } from 'node:crypto';
import { html } from 'hono/html';
import type { Adapter } from '../../adapters/adapter.ts';
import { AppError } from '../../domain/errors.ts';
import { describeCause } from '../../domain/standing.ts';
import { maskText } from '../../lib/mask.ts';
import { sayCount } from '../../lib/say-count.ts';
import { countStaying, type ListedMembership, listMemberships } from '../../memberships/membership-list-store.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { whyDropped } from '../../operator/approve-plan.ts';
import { decidePlan } from '../../operator/decide-plan.ts';
import { findOpenPlan, findPlan, listPlanItems, type Plan, type PlanItem } from '../../removals/plan-store.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { membershipBadge, stateBadge } from '../view/badge.ts';
import { pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** One plan: who would go, why, what they would lose, and what an operator decides about each of them. */
export const planViews: readonly View[] = [{ path: '/plans/:id', show: (asked, ctx) => showPlan(asked, ctx) }];

export const planActs: readonly Act[] = [
  { path: '/plans/:id/approve', act: approve },
  { path: '/plans/:id/reject', act: reject },
];

const perPage = 200;
/** How many people are named in a list without boxes to tick. */
const mostNamed = 200;

async function showPlan(asked: Asked, ctx: OperationContext, problem?: string): Promise<Page> {
  const id = toRowId(asked.params['id']) ?? 0;
  const plan = await findPlan(ctx, id);
  if (plan === undefined) throw new AppError('not_found', `There is no plan ${id}`);
  const items = await listPlanItems(ctx, id);
  const waiting = items.filter(isWaiting);
  const after = toRowId(asked.query.get('after')) ?? 0;
  const onward = waiting.filter(({ membershipId }) => membershipId > after);
  const shown = onward.slice(0, perPage);
  const stays = await countStaying(
    ctx.database.kysely,
    shown.map(({ trainerId }) => trainerId),
  );
  const columns = [...itemColumns, losesColumn(ctx.adapters, stays), evidenceColumn];
  return {
    title: `Plan ${id} of ${plan.install}`,
    note: stateBadge(plan.state),
    status: problem === undefined ? 200 : 400,
    body: html`
      ${problem && html`<p class="bad" role="alert">${problem}</p>`}
      <p>
        More people of ${plan.install} were due to leave than the limit allows, so these removals are on hold since
        ${instantOf(plan.createdAt)}.${plan.decidedAt === null ? '' : html` The plan was ${plan.state} ${instantOf(plan.decidedAt)}.`}
      </p>
      <h2>People to be removed</h2>
      ${waiting.length === 0 ? html`<p class="empty">No removal is waiting for a decision.</p>` : choicesOf(asked, id, { waiting, shown, columns })}
      ${pager(asked, onward.length > perPage ? shown.at(-1)?.membershipId : undefined, 'after')}
      <h2>Changed since</h2>
      ${listed(
        'People who stay for now',
        items.filter(({ isStale }) => isStale),
        staleColumns,
        noStale,
      )}
      ${listed('Others who are due to leave', await listOthers(ctx.database, plan, items), otherColumns, noOthers)}
      <h2>Decided</h2>
      ${listed('Removals that were approved or rejected', items.filter(isDecided), decidedColumns, noDecided)}
    `,
  };
}

const noStale = 'Nothing has changed for them.';
const noOthers = 'Nobody else of this customer is due to leave.';
const noDecided = 'Nothing was decided yet.';

function isWaiting({ outcome, isStale }: PlanItem): boolean {
  return outcome === null && !isStale;
}

function listed<Row>(caption: string, rows: readonly Row[], columns: readonly Column<Row>[], whenEmpty: string): Html {
  const left = rows.length - mostNamed;
  return html`${tableOf(caption, rows.slice(0, mostNamed), columns, whenEmpty)}
    ${left > 0 && html`<p class="quiet">Further ones are left out: ${left}.</p>`}`;
}

interface Choices {
  /** All who still wait for a decision. */
  waiting: readonly PlanItem[];
  /** Those of this page. */
  shown: readonly PlanItem[];
  columns: readonly Column<PlanItem>[];
}

/** The people by the reason why they would go. One form has all of them, so that several reasons are decided at once. */
function choicesOf(asked: Asked, id: number, { waiting, shown, columns }: Choices): Html {
  const canDecide = asked.operator.role === 'operator';
  const groups = [...Map.groupBy(shown, ({ cause }) => cause)].map(
    ([cause, items]) =>
      html`<h3>${capital(describeCause(cause))}</h3>
        ${tableOf(`People to be removed: ${describeCause(cause)}`, items, canDecide ? [select, ...columns] : columns, '')}`,
  );
  if (!canDecide) return html`${groups}`;
  const all = sayAll(waiting);
  return formOf(
    asked,
    `/plans/${id}/approve`,
    html`${groups}
      <p class="quiet">
        The marketplace is read once more before anybody is removed. Whoever has an active contract by then stays.
        ${shown.length < waiting.length && html`The selection is that of this page; “all” is all ${waiting.length} of the plan.`}
      </p>
      <p class="pager">
        <button class="danger">Approve selected</button>
        <button formaction="/plans/${id}/reject">Reject selected</button>
        <button class="danger" name="all" value="${all}">Approve all ${waiting.length}</button>
        <button formaction="/plans/${id}/reject" name="all" value="${all}">Reject all ${waiting.length}</button>
      </p>`,
  ) as Html;
}

/** Tells whether “all” is still what the operator saw: a plan gets no further people, but may lose some. */
function sayAll(waiting: readonly PlanItem[]): string {
  return hash('sha256', waiting.map(({ membershipId }) => membershipId).join(' '));
}

const select: Column<PlanItem> = [
  'select',
  (item) =>
    html`<input type="checkbox" name="membership" value="${item.membershipId}" aria-label="${nameOf(item)} in ${maskText(item.groupId)}" />`,
];

const personColumns: readonly Column<Named & { tool: string; groupId: string }>[] = [
  [
    'Trainer',
    (item) =>
      html`<a href="/trainers/${encodeURIComponent(item.trainerId)}">${nameOf(item)}</a><small class="id">${item.trainerId}</small>`,
  ],
  ['Project', ({ groupId, tool }) => html`${maskText(groupId)}<small>${tool}</small>`],
];

const itemColumns: readonly Column<PlanItem>[] = [
  ...personColumns,
  ['contracts', ({ contractIds }) => html`<span class="id">${contractIds.join(', ')}</span>`],
];

const evidenceColumn: Column<PlanItem> = [
  'why',
  ({ membershipId }) => html`<a href="/memberships/${membershipId}">Why</a>`,
];

/** What is known of what a person would lose, and what they would keep. */
function losesColumn(adapters: ReadonlyMap<string, Adapter>, stays: ReadonlyMap<string, number>): Column<PlanItem> {
  return [
    'loses',
    ({ tool, trainerId }) => {
      const removal = adapters.get(tool)?.capabilities.removal;
      const keeps = stays.get(trainerId) ?? 0;
      const loses = removal?.effect === 'membership_only' ? `the project alone: ${removal.reason}` : 'access';
      return html`${loses}${keeps > 0 && html`; stays in <a href="/trainers/${encodeURIComponent(trainerId)}">${sayCount(keeps, 'other project')}</a>`}`;
    },
  ];
}

const staleColumns: readonly Column<PlanItem>[] = [
  ...personColumns,
  ['stays because', ({ current }) => whyDropped(current)],
];

const decidedColumns: readonly Column<PlanItem>[] = [
  ...personColumns,
  ['decision', ({ outcome }) => outcome],
  ['now', ({ current }) => membershipBadge(current.state)],
];

const otherColumns: readonly Column<ListedMembership>[] = [
  ...personColumns,
  ['reason', ({ cause }) => (cause === null ? 'no active contract' : describeCause(cause))],
  ['leaves', ({ state, removeAfter }) => (state === 'held' ? 'when it is approved' : instantOf(removeAfter) || 'now')],
];

type Named = Pick<PlanItem, 'trainerId' | 'displayName'>;

/** Strangers choose names, so what looks like an address is masked. */
function nameOf({ displayName, trainerId }: Named): string {
  return displayName === null ? trainerId : maskText(displayName);
}

function isDecided({ outcome }: PlanItem): boolean {
  return outcome === 'approved' || outcome === 'rejected';
}

async function listOthers({ kysely }: OperationContext['database'], plan: Plan, items: readonly PlanItem[]) {
  if (plan.state !== 'open') return [];
  const own = new Set(items.map(({ membershipId }) => membershipId));
  const limit = mostNamed + own.size;
  const removing = await listMemberships(kysely, { install: plan.install, state: 'removing', limit });
  const held = await listMemberships(kysely, { install: plan.install, state: 'held', limit });
  return [...removing, ...held].filter(({ id }) => !own.has(id)).slice(0, mostNamed);
}

/** Asks first. The installs are read before anything is approved, so the outcome has a page of its own. */
async function approve(asked: Asked, ctx: OperationContext): Promise<Page | Redirect> {
  const id = needId(asked);
  const only = await chosenIn(asked, ctx, id);
  if (only?.length === 0) return await showPlan(asked, ctx, nothingSelected);
  if (!asked.form.has('sure')) return askFirst(asked, id, only, await listPlanItems(ctx, id));
  const approval = await ctx.approvals.begin(ctx, asked.by, id, { only });
  return { redirect: `/plans/${id}/approvals/${approval.id}` };
}

const nothingSelected = 'Select at least one person.';
const mostAsked = 20;

function askFirst(asked: Asked, id: number, only: readonly number[] | undefined, items: readonly PlanItem[]): Page {
  const chosen = items.filter((item) => isWaiting(item) && (only?.includes(item.membershipId) ?? true));
  const act = `Remove ${sayCount(chosen.length, 'person', 'people')}`;
  const given = ['membership', 'all'].flatMap((name) =>
    asked.form.getAll(name).map((value) => html`<input type="hidden" name="${name}" value="${value}" />`),
  );
  return {
    title: `${act}?`,
    body: html`
      <ul class="sheet plain">
        ${chosen.slice(0, mostAsked).map((item) => html`<li>${nameOf(item)} from ${maskText(item.groupId)}</li>`)}
        ${chosen.length > mostAsked && html`<li class="quiet">and ${chosen.length - mostAsked} more</li>`}
      </ul>
      ${formOf(
        asked,
        `/plans/${id}/approve`,
        html`${given}<p class="pager"><button class="danger" name="sure" value="yes">${act}</button> <a class="button" href="/plans/${id}">Cancel</a></p>`,
      )}
    `,
  };
}

async function reject(asked: Asked, ctx: OperationContext): Promise<Page | Redirect> {
  const id = needId(asked);
  const only = await chosenIn(asked, ctx, id);
  if (only?.length === 0) return await showPlan(asked, ctx, nothingSelected);
  await decidePlan(ctx, asked.by, 'reject', id, { only });
  return { redirect: `/plans/${id}` };
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** @returns undefined for all that wait */
async function chosenIn({ form }: Asked, ctx: OperationContext, id: number): Promise<number[] | undefined> {
  const all = form.get('all');
  if (all === null) return tickedIn(form);
  await findOpenPlan(ctx.database.kysely, id);
  const waiting = (await listPlanItems(ctx, id)).filter(isWaiting);
  if (all === sayAll(waiting)) return undefined;
  throw new AppError(
    'conflict',
    `Plan ${id} has changed since the page was shown, and holds ${waiting.length}: look again`,
  );
}

function tickedIn(form: URLSearchParams): number[] {
  const ids = new Set(form.getAll('membership').map((text) => toRowId(text)));
  return [...ids].map((id) => {
    if (id === undefined) throw new AppError('invalid', 'A membership is named by its number');
    return id;
  });
}

function needId({ params }: Asked): number {
  const id = toRowId(params['id']);
  if (id === undefined) throw new AppError('not_found', `There is no plan ${params['id']}`);
  return id;
}
