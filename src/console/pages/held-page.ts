import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { WorkedOn } from '../../domain/usage.ts';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { findHeldWork, findLate, type LateChange, type ListedHeld, listHeldWork } from '../../operator/held-work.ts';
import { nameTrainers } from '../../operator/install-people-store.ts';
import { decideHeld, decideLate, takeBackDecision } from '../../usage/due/decide-held.ts';
import { describeHeld } from '../../usage/due/describe-due.ts';
import type { LateDay, Lowering } from '../../usage/due/list-late.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { trainerLink } from '../view/access-cells.ts';
import { describeCounts } from '../view/counts.ts';
import { dayOf, instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { workOf } from './work-page.ts';

/** What an operator decides about work: held work, late changes, and what was decided. */
export const heldViews: readonly View[] = [
  { path: '/work/held', show: showHeld },
  { path: '/work/held/:id', show: showOne },
];

export const heldActs: readonly Act[] = [
  { path: '/work/held/:id/assign', act: assign },
  { path: '/work/held/:id/discard', act: discard },
  { path: '/work/held/:id/take-back', act: takeBack },
  { path: '/work/held/:id/send', act: decidesLate(true) },
  { path: '/work/held/:id/dismiss', act: decidesLate(false) },
];

/** So many rows of each kind a page lists. */
const mostListed = 200;

async function showHeld(_asked: Asked, ctx: OperationContext): Promise<Page> {
  const { held, late, lowerings } = await listHeldWork(ctx);
  const lowered = lowerings.filter(({ state }) => state === 'held');
  const decided = (await listHeldWork(ctx, true)).held.toReversed();
  const all = [...held, ...late, ...lowered, ...decided].map(({ trainerId }) => trainerId);
  const names = await nameTrainers(ctx.database, [...new Set(all)]);
  return {
    title: 'Held work',
    body: html`
      <p>Nothing of this is reported before an operator decides.</p>
      ${listOf('Work that is held, the oldest first', named(held, names), heldColumns, noneHeld)}
      <h2>Late changes</h2>
      ${listOf('Days that changed after they were sent for the last time', named(late, names), lateColumns, 'None.')}
      <h2>Days that would be lowered</h2>
      ${listOf('Days of which less is due than was reported', named(lowered, names), loweringColumns, 'None.')}
      <h2>Decided</h2>
      ${listOf('Work that was discarded or assigned, the latest first', named(decided, names), decidedColumns, 'None.')}
    `,
  };
}

const noneHeld = 'No work is held. Work appears here when its contract is not known, or it cannot be right.';

type Named<Row> = Row & { displayName: string | null };

function named<Row extends { trainerId: string }>(rows: readonly Row[], names: ReadonlyMap<string, string>) {
  return rows.map((row): Named<Row> => ({ ...row, displayName: names.get(row.trainerId) ?? null }));
}

function listOf<Row>(caption: string, rows: readonly Row[], columns: readonly Column<Row>[], whenEmpty: string): Html {
  const left = rows.length - mostListed;
  return html`
    ${tableOf(caption, rows.slice(0, mostListed), columns, whenEmpty)}
    ${left > 0 && html`<p class="quiet">${left} more are not listed.</p>`}
  `;
}

const heldColumns: readonly Column<Named<ListedHeld>>[] = [
  ['day', ({ id, day }) => html`<a href="/work/held/${id}">${dayOf(day)}</a>`],
  ['trainer', trainerLink],
  ['where', whereOf],
  ['work', ({ counts }) => describeCounts(counts)],
  ['why', ({ reason }) => describeHeld[reason]],
  ['it may be of', contractsOf],
];

const decidedColumns: readonly Column<Named<ListedHeld>>[] = [
  ...heldColumns,
  ['decision', ({ state }) => state],
  ['since', ({ since }) => instantOf(since)],
];

const changedColumns: readonly Column<Named<Pick<Lowering, 'install' | 'contractId' | 'trainerId' | 'from' | 'to'>>>[] =
  [
    ['trainer', trainerLink],
    ['install', ({ install }) => install],
    ['contract', (one) => html`<a href="${workOf(one)}">${one.contractId}</a>`],
    ['marketplace has', ({ from }) => describeCounts(from)],
    ['due', ({ to }) => describeCounts(to)],
  ];

const lateColumns: readonly Column<Named<LateDay>>[] = [
  ['day', ({ id, day }) => html`<a href="/work/held/${id}">${dayOf(day)}</a>`],
  ...changedColumns,
];

const loweringColumns: readonly Column<Named<Lowering>>[] = [
  ['day', ({ day }) => dayOf(day)],
  ...changedColumns,
  ['since', ({ since }) => instantOf(since)],
  ['to do', (one) => html`<a href="${workOf(one)}">accept it</a>`],
];

function whereOf({ source, workedOn }: { source: string; workedOn: WorkedOn }): string {
  return maskText(`${source}, ${Object.values(workedOn).slice(1).join(' ')}`);
}

function contractsOf({ contracts }: Pick<ListedHeld, 'contracts'>): Html | string {
  if (contracts.length === 0) return 'no contract that is known';
  return html`${contracts.map((one) => html`<a href="${workOf(one)}">${one.contractId}</a> `)}`;
}

async function showOne({ params, ...asked }: Asked, ctx: OperationContext): Promise<Page> {
  const id = params['id'] ?? '';
  const held = await findHeldWork(ctx, id);
  if (held !== undefined) return await showHeldOne({ params, ...asked }, ctx, held);
  const late = await findLate(ctx, id);
  if (late === undefined) throw new AppError('not_found', 'No such work waits for a decision any more');
  return await showLate({ params, ...asked }, ctx, late);
}

async function showHeldOne(asked: Asked, ctx: OperationContext, held: ListedHeld): Promise<Page> {
  const { id, day, counts, reason, contracts, state, since } = held;
  const action = (decision: string) => `/work/held/${id}/${decision}`;
  const options = contracts.map(
    ({ contractId, install }) => html`<option value="${contractId}">${contractId} (${install})</option>`,
  );
  const assigning = html`<div class="filter">
    <label>Contract <select name="contract">${options}</select></label>
    <button>Assign all of it</button>
  </div>`;
  return {
    title: `Held work of ${day}`,
    body: html`
      <dl>
        <dt>Trainer</dt>
        <dd>${await trainerOf(ctx, held)}</dd>
        <dt>Where</dt>
        <dd>${whereOf(held)}</dd>
        <dt>Work</dt>
        <dd>${describeCounts(counts)}</dd>
        <dt>Why</dt>
        <dd>${describeHeld[reason]}</dd>
        <dt>It may be of</dt>
        <dd>${contractsOf(held)}</dd>
        <dt>State</dt>
        <dd>${state}, since ${instantOf(since)}</dd>
      </dl>
      ${contracts.length > 0 && formOf(asked, action('assign'), assigning)}
      ${state !== 'discarded' && formOf(asked, action('discard'), html`<p><button class="danger">Discard: never report it</button></p>`)}
      ${state !== 'held' && formOf(asked, action('take-back'), html`<p><button>Take the decision back</button></p>`)}
    `,
  };
}

async function showLate(asked: Asked, ctx: OperationContext, late: LateChange): Promise<Page> {
  const { id, install, contractId, day, from, to, isDismissed } = late;
  return {
    title: `Late change of ${day}`,
    body: html`
      <p>The day changed after it was sent for the last time.${isDismissed && ' An operator dismissed the change.'}</p>
      <dl>
        <dt>Trainer</dt>
        <dd>${await trainerOf(ctx, late)}</dd>
        <dt>Contract</dt>
        <dd><a href="${workOf(late)}">${contractId}</a> of ${install}</dd>
        <dt>The marketplace has</dt>
        <dd>${describeCounts(from)}</dd>
        <dt>Due</dt>
        <dd>${describeCounts(to)}</dd>
      </dl>
      ${formOf(asked, `/work/held/${id}/send`, html`<p><button>Send it once more</button></p>`)}
      ${!isDismissed && formOf(asked, `/work/held/${id}/dismiss`, html`<p><button>Dismiss: leave what was reported</button></p>`)}
    `,
  };
}

async function trainerOf({ database }: OperationContext, { trainerId }: { trainerId: string }): Promise<Html> {
  const names = await nameTrainers(database, [trainerId]);
  return trainerLink({ trainerId, displayName: names.get(trainerId) ?? null });
}

async function assign({ by, params, form }: Asked, ctx: OperationContext): Promise<Redirect> {
  const contractId = form.get('contract') ?? '';
  await decideHeld(ctx, by, params['id'] ?? '', contractId);
  return { redirect: `/work/contracts/${encodeURIComponent(contractId)}` };
}

async function discard({ by, params }: Asked, ctx: OperationContext): Promise<Redirect> {
  await decideHeld(ctx, by, params['id'] ?? '', null);
  return { redirect: '/work/held' };
}

async function takeBack({ by, params }: Asked, ctx: OperationContext): Promise<Redirect> {
  await takeBackDecision(ctx, by, params['id'] ?? '');
  return { redirect: '/work/held' };
}

function decidesLate(isSent: boolean): Act['act'] {
  return async ({ by, params }, ctx) => {
    await decideLate(ctx, by, params['id'] ?? '', isSent);
    return { redirect: '/work/held' };
  };
}
