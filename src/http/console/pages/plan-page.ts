import { hash } from 'node:crypto';
import { html } from 'hono/html';
import { AppError } from '../../../domain/errors.ts';
import { sayCount } from '../../../lib/text.ts';
import { whoColumns } from '../../../operations/access.ts';
import type { PlanInFull, PlanItem } from '../../../operations/plans.ts';
import { type Columns, membershipPath } from '../../../operations/show.ts';
import { type ConsoleContext, formOf, type Html, type Page, type PageRequest, type Redirect } from '../page.ts';
import { actButton, ask } from '../run-operation.ts';
import { pager, toRowId } from '../view/form.ts';
import { type HtmlColumn, instantOf, shortTableOf, stateBadge, tableOf } from '../view/table.ts';
import { numberIn } from './records.ts';

/** One plan: who would be removed and why, what they would lose, and what was decided. */
export async function showPlan(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  return planPage(request, await load(request, ctx));
}

const perPage = 200;

async function load(request: PageRequest, ctx: ConsoleContext): Promise<PlanInFull> {
  return await ask<PlanInFull>(request, ctx, 'plansShow', { plan: numberIn(request, 'plan') });
}

function planPage(request: PageRequest, plan: PlanInFull, problem?: string): Page {
  const { id, install, state, createdAt, decidedAt, items, others } = plan;
  const waiting = items.filter(isWaiting);
  const after = toRowId(request.query.get('cursor')) ?? 0;
  const onward = waiting.filter(({ membershipId }) => membershipId > after);
  const shown = onward.slice(0, perPage);
  return {
    title: `Plan ${id} of ${install}`,
    note: stateBadge(state),
    status: problem === undefined ? 200 : 400,
    body: html`
      ${problem && html`<p class="bad" role="alert">${problem}</p>`}
      <p>
        More people of ${install} were due to leave than the limit allows, so these removals are on hold since
        ${instantOf(createdAt)}.${decidedAt !== null && html` The plan was ${state} ${instantOf(decidedAt)}.`}
      </p>
      <h2>People to be removed</h2>
      ${waiting.length === 0 ? html`<p class="empty">No removal is waiting for a decision.</p>` : choicesOf(request, id, waiting, shown)}
      ${pager(request, onward.length > perPage ? (shown.at(-1)?.membershipId ?? null) : null)}
      <h2>Changed since</h2>
      ${shortTableOf(
        'People who stay for now',
        items.filter(({ isStale }) => isStale),
        staleColumns,
        'Nothing has changed for them.',
      )}
      ${shortTableOf('Others who are due to leave', others, otherColumns, 'Nobody else of this customer is due to leave.')}
      <h2>Decided</h2>
      ${shortTableOf(
        'Removals that were approved or rejected',
        items.filter(({ outcome }) => outcome === 'approved' || outcome === 'rejected'),
        decidedColumns,
        'Nothing was decided yet.',
      )}
    `,
  };
}

function isWaiting({ outcome, isStale }: PlanItem): boolean {
  return outcome === null && !isStale;
}

/** The people, grouped by the reason for their removal. They share one form, so that several groups are decided at once. */
function choicesOf(request: PageRequest, id: number, waiting: readonly PlanItem[], shown: readonly PlanItem[]): Html {
  const canDecide = request.operator.role === 'operator';
  const groups = [...Map.groupBy(shown, ({ because }) => because)].map(
    ([because, items]) =>
      html`<h3>${because.charAt(0).toUpperCase()}${because.slice(1)}</h3>
        ${tableOf(`People to be removed: ${because}`, items, itemColumns, '', canDecide ? [select] : [])}`,
  );
  if (!canDecide) return html`${groups}`;
  const all = digestOf(waiting);
  return formOf(
    request,
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

/** Shows whether “all” still means the people whom the operator saw: a plan gains nobody, but may lose some. */
function digestOf(waiting: readonly PlanItem[]): string {
  return hash('sha256', waiting.map(({ membershipId }) => membershipId).join(' '));
}

const select: HtmlColumn<PlanItem> = [
  'select',
  (item) =>
    html`<input type="checkbox" name="membership" value="${item.membershipId}" aria-label="${nameOf(item)} in ${item.groupId}" />`,
  'first',
];

const itemColumns: Columns<PlanItem> = [
  ...whoColumns,
  ['contracts', ({ contractIds }) => contractIds.join(', ')],
  ['loses', ({ loses, keeps }) => (keeps === 0 ? loses : `${loses}; stays in ${sayCount(keeps, 'other project')}`)],
  ['why', () => 'Why', { to: ({ membershipId }) => membershipPath(membershipId) }],
];

const staleColumns: Columns<PlanItem> = [...whoColumns, ['stays because', ({ staysBecause }) => staysBecause]];

const decidedColumns: Columns<PlanItem> = [
  ...whoColumns,
  ['decision', ({ outcome }) => outcome],
  ['now', ({ current }) => current.state, { as: 'state', to: ({ membershipId }) => membershipPath(membershipId) }],
];

const otherColumns: Columns<PlanInFull['others'][number]> = [
  ...whoColumns,
  ['reason', ({ because }) => because],
  ['state', ({ state }) => state, { as: 'state' }],
  ['leaves', ({ removeAfter }) => removeAfter, { as: 'age' }],
  ['waits', ({ waitsFor }) => waitsFor],
];

function nameOf({ displayName, trainerId }: PlanItem): string {
  return displayName ?? trainerId;
}

/** Asks for confirmation before anybody is removed. */
export async function approve(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const plan = await load(request, ctx);
  const only = chosenOf(request, plan);
  return only.length === 0 ? planPage(request, plan, unselected) : showConfirmation(request, plan, only);
}

export async function reject(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const plan = await load(request, ctx);
  const only = chosenOf(request, plan);
  if (only.length === 0) return planPage(request, plan, unselected);
  await ask(request, ctx, 'plansReject', { plan: plan.id, only });
  return { redirect: `/plans/${plan.id}` };
}

const unselected = 'Select at least one person.';

/** The memberships that were selected, or all that wait for a decision. */
function chosenOf({ form }: PageRequest, { id, state, items }: PlanInFull): number[] {
  const all = form.get('all');
  if (all === null) return [...new Set(form.getAll('membership').flatMap((text) => toRowId(text) ?? []))];
  if (state !== 'open') throw new AppError('conflict', `Plan ${id} is already ${state}`);
  const waiting = items.filter(isWaiting);
  if (all === digestOf(waiting)) return waiting.map(({ membershipId }) => membershipId);
  const message = `Plan ${id} has changed since the page was loaded and now holds ${waiting.length}. Check it again`;
  throw new AppError('conflict', message);
}

const mostNamed = 20;

/** `plansApprove` reads the customers first, and then waits for the removals. */
function showConfirmation(request: PageRequest, { id, items }: PlanInFull, only: readonly number[]): Page {
  const chosen = items.filter((item) => isWaiting(item) && only.includes(item.membershipId));
  const label = `Remove ${sayCount(chosen.length, 'person', 'people')}`;
  const back = `/plans/${id}`;
  return {
    title: `${label}?`,
    body: html`
      <ul class="sheet">
        ${chosen.slice(0, mostNamed).map((item) => html`<li>${nameOf(item)} from ${item.groupId}</li>`)}
        ${chosen.length > mostNamed && html`<li class="quiet">and ${chosen.length - mostNamed} more</li>`}
      </ul>
      ${actButton(request, 'plansApprove', { plan: id, only: only.join(' '), wait: '100s' }, { label, tone: 'danger', back })}
      <p><a class="button" href="${back}">Cancel</a></p>
    `,
  };
}
