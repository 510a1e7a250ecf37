import { html } from 'hono/html';
import { addCounts, noCounts } from '../../../domain/usage.ts';
import { addDays } from '../../../lib/days.ts';
import { sayCount } from '../../../lib/text.ts';
import { trainerColumns } from '../../../operations/access.ts';
import { operationOf } from '../../../operations/all.ts';
import { type Columns, contractPath } from '../../../operations/show.ts';
import type { HeldList } from '../../../operations/usage.ts';
import {
  type CheckedDay,
  type CheckedWork,
  type CheckSum,
  dayColumns,
  sayDifference,
  toDollars,
} from '../../../operations/usage-check.ts';
import { toWanted } from '../../../operations/usage-report.ts';
import { type ShownUsage, sayGaps, type UsageDay } from '../../../operations/usage-show.ts';
import { type HeldWork, sayCounts, workPath } from '../../../operations/usage-values.ts';
import { whyLong } from '../../../usage/due/check-usage.ts';
import { describeDifference, describeHeld } from '../../../usage/due/explain-day.ts';
import type { Answer, ConsoleContext, Html, Page, PageRequest, Redirect } from '../page.ts';
import { actButton, ask, askLong, inputIn } from '../run-operation.ts';
import { filterForm, pager, toRowId } from '../view/form.ts';
import { sheetOf, shortTableOf, tableOf } from '../view/table.ts';
import { fileOf, filterOf } from './lists.ts';

/** The number of days that are shown by default. */
const spanDays = 14;
const pageSize = 100;

/** The work that tools and imports have, what of it is due, what the marketplace has, and why they differ. */
export async function showWork(given: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const request = withSpan(given, ctx);
  const { query } = request;
  const filter = filterForm(request, filterOf(check, request, ctx, ['install', 'contract', 'from', 'to', 'all']));
  const { answer, instead } = await checkedOf(request, ctx, filter);
  if (instead) return instead;
  const { sums, days, left } = answer;
  const skipped = toRowId(query.get('cursor')) ?? 0;
  const shown = days.slice(skipped, skipped + pageSize);
  const end = skipped + shown.length;
  return {
    title: 'Work',
    acts: days.length > 0 ? html`<a class="button" href="/work.csv?${query}">Export CSV</a>` : '',
    isStill: true,
    body: html`
      ${filter}
      ${olderOf(answer, query)}
      ${tableOf('Sums of each customer', sums, sumColumns, `No work is known for these days. It is read from the tools and reported by the schedule “${ctx.config.usage.schedule}” (UTC).`)}
      <h2>${query.has('all') ? 'Days' : 'Days that differ'}</h2>
      ${tableOf('Days of trainers on contracts, the latest first', shown, checkedColumns, 'The marketplace has what is due.', [['to do', (one) => toDo(request, one)]])}
      ${pager(request, end < days.length ? end : null)}
      ${left > 0 && html`<p class="warn">${sayCount(left, 'more day is', 'more days are')} not listed. Narrow the filter.</p>`}
      <p><a href="/work/held">Held work, late changes and lowered days</a></p>
    `,
  };
}

const check = operationOf('usageCheck');

async function checkedOf(request: PageRequest, ctx: ConsoleContext, above?: Html) {
  const input = inputIn(check, request.query);
  const asked = { id: check.id, input, title: 'Work', whyLong: await whyLong(ctx, await toWanted(ctx, input)), above };
  return await askLong<CheckedWork>(request, ctx, asked);
}

function withSpan(request: PageRequest, { clock }: ConsoleContext): PageRequest {
  const query = new URLSearchParams(request.query);
  if (!query.get('to')) query.set('to', clock.now().toISOString().slice(0, 10));
  const to = query.get('to') ?? '';
  if (!query.get('from') && /^[12]\d{3}-\d\d-\d\d$/.test(to) && !Number.isNaN(Date.parse(to)))
    query.set('from', addDays(to, 1 - spanDays));
  return { ...request, query };
}

/** Links to older days that wait for an operator. */
function olderOf({ older }: CheckedWork, query: URLSearchParams): Html | string {
  if (older === null) return '';
  const { started: _other, ...same } = Object.fromEntries(query);
  const since = new URLSearchParams({ ...same, from: older });
  return html`<p class="warn">Older days need you too. <a href="/work?${since}">Show all since ${older}</a></p>`;
}

const sumColumns: Columns<CheckSum> = [
  [
    'install',
    ({ install }) => install || 'of none',
    { to: ({ install }) => install && `/work?${new URLSearchParams({ install })}` },
  ],
  ['tools and imports have', ({ seen }) => sayCounts(seen)],
  ['held', ({ held }) => sayCounts(held)],
  ['due', ({ due }) => sayCounts(due)],
  ['marketplace has', ({ answered }) => sayCounts(answered)],
  ['days', ({ days }) => days, { align: 'right' }],
  ['differ', ({ differing }) => differing || '', { align: 'right' }],
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
];

const checkedColumns: Columns<CheckedDay> = [
  ['day', ({ day }) => day],
  ...trainerColumns,
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId, { to: (one) => one.contractId && workPath(one) }],
  ['tools and imports have', ({ seen }) => sayCounts(seen)],
  ['due', ({ due }) => sayCounts(due)],
  ['marketplace has', ({ answered }) => sayCounts(answered)],
  ['why', sayDifference],
  ['US$ unpaid', ({ usd }) => toDollars(usd), { align: 'right' }],
];

const decisions: Record<string, string> = {
  held: 'assign or discard it',
  discarded: 'take it back',
  late: 'send or dismiss it',
  lowering_held: 'accept it',
  refused: 'see the answer',
  unsent: 'see the answer',
};

function toDo(request: PageRequest, one: CheckedDay): Html | string {
  const why = one.why ?? '';
  if (why === 'dismissed') return actButton(request, 'usageSend', { day: one.id }, { label: 'Send it' });
  const says = decisions[why];
  const path = why === 'held' || why === 'discarded' || why === 'late' ? '/work/held' : workPath(one);
  return says === undefined ? '' : html`<a href="${path}">${says}</a>`;
}

export async function downloadWork(request: PageRequest, ctx: ConsoleContext): Promise<Answer> {
  const { answer, instead } = await checkedOf(withSpan(request, ctx), ctx);
  return instead ?? fileOf('work', answer.days, dayColumns);
}

/** The most days of trainers that a page lists. */
const mostDays = 500;

/** The work on one contract, day by day. */
export async function showContractWork(request: PageRequest, ctx: ConsoleContext): Promise<Page | Redirect> {
  const { contract = '' } = request.params;
  const input = { contract, install: request.query.get('install') ?? undefined, stored: true };
  const asked = { id: 'usageShow', input, title: `Work on contract ${contract}`, whyLong: await whyLong(ctx) };
  const { answer: usage, instead } = await askLong<ShownUsage>(request, ctx, asked);
  if (instead) return instead;
  const { install, contractId, title, days, held, reported } = usage;
  const isDiffering = request.query.has('differs');
  const chosen = (isDiffering ? days.filter(({ why }) => why !== null) : days).toReversed();
  const other = new URLSearchParams({ install, ...(!isDiffering && { differs: 'yes' }) });
  return {
    title: title === null ? `Work on contract ${contractId}` : `Work on “${title}”`,
    body: html`
      <p><a href="${contractPath(contractId)}">Contract ${contractId}</a> of ${install}</p>
      ${sheetOf([
        ['due in all', sayCounts(days.reduce((sum, { due }) => addCounts(sum, due ?? noCounts), noCounts))],
        ['reported in all', sayCounts(reported)],
      ])}
      ${sayGaps(usage).map((says) => html`<p class="warn">${says}</p>`)}
      <h2>Days</h2>
      <p><a href="${request.path}?${other}">${isDiffering ? 'Show all days' : 'Show only days that differ'}</a></p>
      ${tableOf('Each day of each trainer, the latest first', chosen.slice(0, mostDays), contractDayColumns, 'No such day. One appears when work on this contract is read in a tool, or imported.')}
      ${chosen.length > mostDays && html`<p class="quiet">Older days are left out: ${chosen.length - mostDays}.</p>`}
      ${acceptForm(request, usage)}
      <h2>Held</h2>
      ${tableOf('Held or decided work that may belong to this contract', held, heldOfContractColumns, 'No work on this contract is held.')}
    `,
  };
}

const contractDayColumns: Columns<UsageDay> = [
  ['day', ({ day }) => day],
  ...trainerColumns,
  ['due', ({ due }) => sayCounts(due)],
  ['marketplace has', ({ sent }) => sayCounts(sent)],
  ['why', ({ why }) => why && describeDifference[why]],
  ['sent', ({ report }) => report?.sentAt, { as: 'age' }],
  ['answer', ({ report }) => answerOf(report)],
];

function answerOf(report: UsageDay['report']): string {
  if (report === null) return 'not sent';
  const { state, status, message } = report;
  const said = [status, message].filter((one) => one !== null).join(' ');
  return state === 'answered' || said === '' ? state : `${state}: ${said}`;
}

function acceptForm(request: PageRequest, { install, contractId: contract, days }: ShownUsage): Html | string {
  const lowered = days.filter(({ why }) => why === 'lowering_held').length;
  if (lowered === 0) return '';
  const fields = html`<p>
    <strong class="warn">Days that would be lowered and wait for an operator: ${lowered}.</strong> If you accept, they are
    reported as the tools count them now.
  </p>`;
  const button = { label: 'Accept and report the lower counts', tone: 'danger', fields } as const;
  return actButton(request, 'usageReport', { install, contract, acceptLowered: true }, button);
}

const heldOfContractColumns: Columns<HeldWork> = [
  ['day', ({ day }) => day, { to: () => '/work/held' }],
  ...trainerColumns,
  ['work', ({ counts }) => sayCounts(counts)],
  ['why', ({ reason }) => describeHeld[reason]],
  ['state', ({ state }) => state],
];

/** The work that waits for an operator's decision, and the decisions so far. */
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
    act: (row: Row) => Html | string,
  ) => shortTableOf(caption, rows, columns, whenEmpty, mayAct ? [['to do', act]] : []);
  return {
    title: 'Held work',
    body: html`
      <p>None of this is reported until an operator decides.</p>
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
        'Days for which less is due than was reported',
        lowerings.filter(({ state }) => state === 'held'),
        changedColumns,
        'None.',
        (one) => html`<a href="${workPath(one)}">Accept it</a>`,
      )}
      <h2>Decided</h2>
      ${listOf('Work that was discarded or assigned, the latest first', decided.held.toReversed(), decidedColumns, 'None.', ({ id: work }) => actButton(request, 'usageTakeBack', { work }, { label: 'Take the decision back' }))}
    `,
  };
}

const noneHeld = 'No work is held. Work appears here if its contract is unknown or the work is implausible.';

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
