import { html } from 'hono/html';
import { planStates } from '../../domain/brake.ts';
import { AppError } from '../../domain/errors.ts';
import { describeCause } from '../../domain/standing.ts';
import { createEvidenceStore } from '../../evidence/evidence-store.ts';
import { maskText } from '../../lib/mask.ts';
import { type ListedMembership, listMemberships } from '../../memberships/membership-list-store.ts';
import { approvePlan, whyDropped } from '../../operator/approve-plan.ts';
import { decidePlan } from '../../operator/decide-plan.ts';
import { createPlanStore, type Plan, type PlanItem } from '../../removals/plan-store.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { chosen, chosenOf, filterForm, pager, toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** The removals that the brake holds: who would go, why, and what an operator decides about each of them. */
export const planViews: readonly View<ConsoleParts>[] = [
  { path: '/plans', show: showPlans },
  { path: '/plans/:id', show: showPlan },
];

export const planActs: readonly Act<ConsoleParts>[] = [
  { path: '/plans/:id/approve', act: approve },
  { path: '/plans/:id/reject', act: reject },
];

const perPage = 100;
/** How many people who are not in a plan are named beside it. */
const mostNamed = 200;

async function showPlans(asked: Asked, { database, installs }: ConsoleParts): Promise<Page> {
  const { query } = asked;
  const filter = { state: chosenOf(query, 'state', planStates), install: chosen(query, 'install') };
  const before = toRowId(query.get('before'));
  const found = await createPlanStore(database).page({ ...filter, before, limit: perPage + 1 });
  const plans = found.slice(0, perPage);
  return {
    title: 'Plans',
    body: html`
      ${filterForm(asked, [
        { name: 'state', label: 'state', options: planStates },
        { name: 'install', label: 'install', options: [...installs.keys()].sort() },
      ])}
      ${tableOf('Removals that the brake held, the newest first', plans, planColumns, noPlans)}
      ${pager(asked, found.length > perPage ? plans.at(-1)?.id : undefined)}
    `,
  };
}

const noPlans = 'There are no such plans. One appears when more people are to leave than the brake lets pass.';

const planColumns: readonly Column<Plan>[] = [
  ['plan', ({ id }) => html`<a href="/plans/${id}">Plan ${id}</a>`],
  ['install', ({ install }) => install],
  ['state', ({ state }) => state],
  ['people', ({ size }) => size, 'number'],
  ['made', ({ createdAt }) => instantOf(createdAt)],
  ['decided', ({ decidedAt }) => instantOf(decidedAt)],
];

async function showPlan(asked: Asked, { database }: ConsoleParts): Promise<Page> {
  const id = toRowId(asked.params['id']) ?? 0;
  const store = createPlanStore(database);
  const plan = await store.find(id);
  if (plan === undefined) throw new AppError('not_found', `There is no plan ${id}`);
  const items = await store.show(id);
  const waiting = items.filter(({ outcome, isStale }) => outcome === null && !isStale);
  return {
    title: `Plan ${id}`,
    body: html`
      <p>
        The brake held these removals of <strong>${plan.install}</strong> at ${instantOf(plan.createdAt)}. This plan is
        ${plan.state}${plan.decidedAt === null ? '' : html`, since ${instantOf(plan.decidedAt)}`}.
      </p>
      <h2>Who would go</h2>
      ${waiting.length === 0 ? html`<p class="empty">No removal waits here for a decision.</p>` : choicesOf(asked, id, waiting)}
      <h2>What changed since</h2>
      ${tableOf(
        'Who no longer goes by this plan',
        items.filter(({ isStale }) => isStale),
        staleColumns,
        noStale,
      )}
      ${tableOf('Who is to leave too, and is not in this plan', await listOthers(database, plan, items), otherColumns, noOthers)}
      <h2>What was decided</h2>
      ${tableOf('Removals that were approved or rejected', items.filter(isDecided), decidedColumns, noDecided)}
    `,
  };
}

const noStale = 'The evidence about each of them is as it was. A person whose removal is no longer due appears here.';
const noOthers = 'No other person of this install is to leave. One who is to leave since appears here.';
const noDecided = 'Nothing yet. What an operator approves or rejects appears here.';

/** The people by the reason why they would go. One form has all of them, so that several reasons are decided at once. */
function choicesOf(asked: Asked, id: number, waiting: readonly PlanItem[]): Html {
  const canDecide = asked.operator.role === 'operator';
  const groups = [...Map.groupBy(waiting, ({ cause }) => cause)].map(
    ([cause, items]) =>
      html`<h3>Because ${describeCause(cause)}</h3>
        ${tableOf(`Who would go because ${describeCause(cause)}`, items, canDecide ? [tick, ...itemColumns] : itemColumns, '')}`,
  );
  if (!canDecide) return html`${groups}`;
  return formOf(
    asked,
    `/plans/${id}/approve`,
    html`${groups}
      <p class="quiet">
        Before a person goes, the marketplace is read once more. Those whose removal is no longer due stay.
      </p>
      <p class="pager">
        <button class="danger">Approve the ticked</button>
        <button formaction="/plans/${id}/reject">Reject the ticked</button>
      </p>`,
  ) as Html;
}

const tick: Column<PlanItem> = [
  'tick',
  (item) =>
    html`<input type="checkbox" name="membership" value="${item.membershipId}" aria-label="${nameOf(item)} in ${maskText(item.groupId)}" />`,
];

const personColumns: readonly Column<Named & { tool: string; groupId: string }>[] = [
  ['name', (item) => nameOf(item)],
  ['trainer', ({ trainerId }) => trainerId],
  ['tool', ({ tool }) => tool],
  ['project', ({ groupId }) => maskText(groupId)],
];

const itemColumns: readonly Column<PlanItem>[] = [
  ...personColumns,
  ['contracts', ({ contractIds }) => contractIds.join(', ')],
  ['evidence', ({ membershipId }) => html`<a href="/memberships/${membershipId}">Membership ${membershipId}</a>`],
];

const staleColumns: readonly Column<PlanItem>[] = [
  ...personColumns,
  ['stays because', ({ current }) => whyDropped(current)],
];

const decidedColumns: readonly Column<PlanItem>[] = [
  ...personColumns,
  ['decision', ({ outcome }) => outcome],
  ['now', ({ current }) => current.state],
];

const otherColumns: readonly Column<ListedMembership>[] = [
  ...personColumns,
  ['because', ({ cause }) => (cause === null ? 'no reason is left' : describeCause(cause))],
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

async function listOthers({ kysely }: ConsoleParts['database'], plan: Plan, items: readonly PlanItem[]) {
  if (plan.state !== 'open') return [];
  const own = new Set(items.map(({ membershipId }) => membershipId));
  const limit = mostNamed + own.size;
  const removing = await listMemberships(kysely, { install: plan.install, state: 'removing', limit });
  const held = await listMemberships(kysely, { install: plan.install, state: 'held', limit });
  return [...removing, ...held].filter(({ id }) => !own.has(id)).slice(0, mostNamed);
}

/** The workers of this process carry it out; the page shows what became of it. */
async function approve({ params, form, by }: Asked, { database, installs, services }: ConsoleParts): Promise<Redirect> {
  const id = needId(params['id']);
  const deps = { ...services, plans: createPlanStore(database), by };
  const patience = { waitMs: 0, signal: new AbortController().signal, onProgress: () => undefined };
  await approvePlan(deps, id, [...installs.keys()], { patience, only: tickedIn(form) });
  return { redirect: `/plans/${id}` };
}

async function reject({ params, form, by }: Asked, { database, box }: ConsoleParts): Promise<Redirect> {
  const id = needId(params['id']);
  const deps = { database, plans: createPlanStore(database), evidence: createEvidenceStore(database, box), by };
  await decidePlan(deps, 'reject', id, { only: tickedIn(form) });
  return { redirect: `/plans/${id}` };
}

function tickedIn(form: URLSearchParams): number[] {
  const ids = new Set(form.getAll('membership').map((text) => toRowId(text)));
  return [...ids].map((id) => {
    if (id === undefined) throw new AppError('invalid', 'A membership is named by its number');
    return id;
  });
}

function needId(text: string | undefined): number {
  const id = toRowId(text);
  if (id === undefined) throw new AppError('not_found', `There is no plan ${text}`);
  return id;
}
