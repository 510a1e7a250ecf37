import { html } from 'hono/html';
import { trainerColumns } from '../../operations/access.ts';
import type { Columns } from '../../operations/show.ts';
import type { HeldList } from '../../operations/usage-held.ts';
import { type HeldWork, sayCounts, workPath } from '../../operations/usage-values.ts';
import { whyLong } from '../../usage/due/check-usage.ts';
import { describeHeld } from '../../usage/due/describe-due.ts';
import { actButton } from '../act.ts';
import { ask, askLong } from '../ask.ts';
import type { ConsoleContext, Html, Page, PageRequest, Redirect } from '../page.ts';
import { shortTableOf } from '../view/table.ts';

/** What an operator decides about work: held work, late changes, and what was decided. */
export async function showHeld(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const asked = { id: 'usageHeld', input: { decided: false }, title: 'Held work', whyLong: await whyLong(ctx) };
  const { answer, instead } = await askLong<HeldList>(request, ctx, asked);
  if (instead) return instead;
  const { held, late, lowerings } = answer;
  const decided = await ask<HeldList>(request, ctx, 'usageHeld', { decided: true });
  const mayAct = request.operator.role === 'operator';
  const listOf = <Row>(
    caption: string,
    rows: readonly Row[],
    columns: Columns<Row>,
    whenEmpty: string,
    act: (row: Row) => Html,
  ) => shortTableOf(caption, rows, columns, whenEmpty, mayAct ? [['to do', act]] : []);
  return {
    title: 'Held work',
    body: html`
      <p>Nothing of this is reported before an operator decides.</p>
      ${listOf('Work that is held, the oldest first', held, heldColumns, noneHeld, (one) => decisionsOf(request, one))}
      <h2>Late changes</h2>
      ${listOf(
        'Days that changed after their last report',
        late,
        changedColumns,
        'None.',
        ({ id: day }) => html`
        ${actButton(request, 'usageSend', { day }, { label: 'Send it once more' })}
        ${actButton(request, 'usageDismiss', { day }, { label: 'Dismiss it' })}
      `,
      )}
      <h2>Days that would be lowered</h2>
      ${listOf(
        'Days of which less is due than was reported',
        lowerings.filter(({ state }) => state === 'held'),
        changedColumns,
        'None.',
        (one) => html`<a href="${workPath(one)}">Accept it</a>`,
      )}
      <h2>Decided</h2>
      ${listOf('Work that was discarded or assigned, the latest first', decided.held.toReversed(), decidedColumns, 'None.', ({ id: work }) => html`${actButton(request, 'usageTakeBack', { work }, { label: 'Take the decision back' })}`)}
    `,
  };
}

const noneHeld = 'No work is held. Work appears here when its contract is not known, or it cannot be right.';

function decisionsOf(request: PageRequest, { id: work, contracts }: HeldWork): Html {
  const options = contracts.map(
    ({ contractId, install }) => html`<option value="${contractId}">${contractId} (${install})</option>`,
  );
  const fields = html`<select name="contract" aria-label="Contract">${options}</select>`;
  return html`
    ${contracts.length > 0 && actButton(request, 'usageAssign', { work }, { label: 'Assign it', fields })}
    ${actButton(request, 'usageDiscard', { work }, { label: 'Discard it', tone: 'danger' })}
  `;
}

const heldColumns: Columns<HeldWork> = [
  ['day', ({ day }) => day],
  ...trainerColumns,
  ['where', ({ source, workedOn }) => `${source}, ${Object.values(workedOn).slice(1).join(' ')}`],
  ['work', ({ counts }) => sayCounts(counts)],
  ['why', ({ reason }) => describeHeld[reason]],
  ['it may be of', ({ contracts }) => contracts.map(({ contractId }) => contractId).join(', ') || 'no known contract'],
];

const decidedColumns: Columns<HeldWork> = [
  ...heldColumns,
  ['decision', ({ state }) => state],
  ['since', ({ since }) => since, { as: 'age' }],
];

const changedColumns: Columns<HeldList['late'][number] | HeldList['lowerings'][number]> = [
  ['day', ({ day }) => day],
  ...trainerColumns,
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId, { to: workPath }],
  ['marketplace has', ({ from }) => sayCounts(from)],
  ['due', ({ to }) => sayCounts(to)],
];
