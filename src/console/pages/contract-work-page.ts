import { html } from 'hono/html';
import { addCounts, noCounts } from '../../domain/usage.ts';
import { trainerColumns } from '../../operations/access.ts';
import { type Columns, contractPath } from '../../operations/show.ts';
import { type ShownUsage, sayGaps, type UsageDay } from '../../operations/usage-show.ts';
import { type HeldWork, sayCounts } from '../../operations/usage-values.ts';
import { whyLong } from '../../usage/due/check-usage.ts';
import { describeDifference, describeHeld } from '../../usage/due/describe-due.ts';
import { actButton } from '../act.ts';
import { askLong } from '../ask.ts';
import type { ConsoleContext, Html, Page, PageRequest, Redirect } from '../page.ts';
import { sheetOf, tableOf } from '../view/table.ts';

/** The most days of trainers that a page lists. */
const mostListed = 500;

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
      ${tableOf('Each day of each trainer, the latest first', chosen.slice(0, mostListed), columns, 'No such day. One appears when work on this contract is read in a tool, or imported.')}
      ${chosen.length > mostListed && html`<p class="quiet">Older days are left out: ${chosen.length - mostListed}.</p>`}
      ${acceptForm(request, usage)}
      <h2>Held</h2>
      ${tableOf('Work that may be of this contract: held, or decided', held, heldColumns, 'No work of this contract is held.')}
    `,
  };
}

const columns: Columns<UsageDay> = [
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
    <strong class="warn">Days that would be lowered, and wait for an operator: ${lowered}.</strong> Accepted, they are
    reported as the tools count them now.
  </p>`;
  const button = { label: 'Accept and report the lower counts', tone: 'danger', fields } as const;
  return actButton(request, 'usageReport', { install, contract, acceptLowered: true }, button);
}

const heldColumns: Columns<HeldWork> = [
  ['day', ({ day }) => day, { to: () => '/work/held' }],
  ...trainerColumns,
  ['work', ({ counts }) => sayCounts(counts)],
  ['why', ({ reason }) => describeHeld[reason]],
  ['state', ({ state }) => state],
];
