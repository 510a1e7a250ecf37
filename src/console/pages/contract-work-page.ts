import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { addCounts, noCounts } from '../../domain/usage.ts';
import { findContracts } from '../../evidence/contract-store.ts';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { acceptLowered } from '../../operator/report-work.ts';
import { describeDifference, describeHeld } from '../../usage/due/describe-due.ts';
import { type ContractGaps, showGaps } from '../../usage/show/show-gaps.ts';
import { type ShownContract, type ShownDay, showUsage } from '../../usage/show/show-usage.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { describeCounts } from '../view/counts.ts';
import { chosen, chosenOf, filterForm } from '../view/filter.ts';
import { dayOf, instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { workOf } from './work-page.ts';

/** The work on one contract, day by day. */
export const contractWorkViews: readonly View[] = [{ path: '/work/contracts/:id', show: showContractWork }];

export const contractWorkActs: readonly Act[] = [{ path: '/work/contracts/:id/accept', act: accept }];

/** So many days of trainers a page lists. */
const mostListed = 500;
const yes = ['yes'] as const;
const patienceMs = 60_000;

async function showContractWork(asked: Asked, ctx: OperationContext): Promise<Page> {
  const found = await findAsked(asked, ctx);
  const [contract, other] = found;
  if (contract === undefined) throw new AppError('not_found', 'No event and no reading has named such a contract');
  if (other !== undefined) return chooseInstall(found);
  const { install, contractId, title } = contract;
  const shown = await showUsage(ctx, contract);
  const gaps = await showGaps(ctx, install, contractId);
  return {
    title: title === null ? `Work on contract ${contractId}` : maskText(`Work on “${title}”`),
    body: html`
      <p><a href="/contracts/${encodeURIComponent(contractId)}">Contract ${contractId}</a> of ${install}</p>
      ${sumsOf(shown)}
      ${gapsOf(gaps)}
      ${daysOf(asked, shown)}
      ${acceptForm(asked, contract, shown)}
      <h2>Held</h2>
      ${tableOf('Work that may be of this contract: held, or decided', shown.held, heldColumns, 'No work of this contract is held.')}
    `,
  };
}

async function findAsked({ params, query }: Asked, { database }: OperationContext) {
  const id = params['id'] ?? '';
  if (id.length > 500 || /\p{Cc}/u.test(id) || !id.isWellFormed()) return [];
  return await findContracts(database.kysely, id, chosen(query, 'install'));
}

function chooseInstall(found: readonly ContractKey[]): Page {
  return {
    title: 'Work on a contract of several installs',
    body: html`<ul>
      ${found.map((one) => html`<li><a href="${workOf(one)}">${one.install}</a></li>`)}
    </ul>`,
  };
}

function sumsOf({ days, reported }: ShownContract): Html {
  const due = days.reduce((sum, one) => addCounts(sum, one.due ?? noCounts), noCounts);
  return html`<dl>
    <dt>Due in all</dt>
    <dd>${describeCounts(due)}</dd>
    <dt>Reported in all</dt>
    <dd>${describeCounts(reported)}</dd>
  </dl>`;
}

/** Why less may be counted than was done. */
function gapsOf({ gaps, fallen, failing }: ContractGaps): Html | string {
  const lines = [
    ...failing.map(({ tool, scope, failure }) => `The work at ${scope} in ${tool} cannot be read: ${failure}.`),
    ...gaps.map(({ tool, scope, says }) => `Not all of the work at ${scope} in ${tool} can be counted: ${says}.`),
    ...fallen.map(
      ({ tool, scope, trainerId, fallen: less }) =>
        `Of ${trainerId} ${tool} tells less at ${scope} than was counted, by ${describeCounts(less)}: so much of what they do next does not count.`,
    ),
  ];
  return lines.length === 0
    ? ''
    : html`<ul>
        ${lines.map((says) => html`<li class="warn">${maskText(says)}</li>`)}
      </ul>`;
}

function daysOf(asked: Asked, { days }: ShownContract): Html {
  const differs = chosenOf(asked.query, 'differs', yes);
  const chosenDays = differs === undefined ? days : days.filter(({ why }) => why !== null);
  const latest = chosenDays.toReversed().slice(0, mostListed);
  const install = chosen(asked.query, 'install');
  const fields = [{ name: 'differs', label: 'only days that differ', options: yes }];
  return html`
    ${filterForm(asked, install === undefined ? fields : [{ name: 'install', label: 'install', options: [install] }, ...fields])}
    ${tableOf('Each day of each trainer, the latest first', latest, shownColumns, noDays)}
    ${chosenDays.length > mostListed && html`<p class="quiet">Older days are left out: ${chosenDays.length - mostListed}.</p>`}
  `;
}

const noDays = 'No such day. One appears when work on this contract is read in a tool, or imported.';

const shownColumns: readonly Column<ShownDay>[] = [
  ['day', ({ day }) => dayOf(day)],
  ['trainer', ({ trainerId }) => html`<a href="/trainers/${encodeURIComponent(trainerId)}">${maskText(trainerId)}</a>`],
  ['due', ({ due }) => describeCounts(due)],
  ['marketplace has', ({ sent }) => describeCounts(sent)],
  ['why', ({ why }) => (why === null ? '' : html`<span class="warn">${describeDifference[why]}</span>`)],
  ['sent', ({ report }) => instantOf(report?.sentAt)],
  ['answer', ({ report }) => answerOf(report)],
];

function answerOf(report: ShownDay['report']): string {
  if (report === null) return 'not sent';
  const { state, status, message } = report;
  const said = [status, message === null ? null : maskText(message)].filter((one) => one !== null);
  return state === 'answered' || said.length === 0 ? state : `${state}: ${said.join(' ')}`;
}

function acceptForm(asked: Asked, { install, contractId }: ContractKey, { days }: ShownContract): Html | string {
  const lowered = days.filter(({ why }) => why === 'lowering_held').length;
  if (lowered === 0) return '';
  const says = html`<p>
      <strong class="warn">Days that would be lowered, and wait for an operator: ${lowered}.</strong> Accepted, they are
      reported as the tools count them now.
    </p>
    <p><button class="danger">Accept and report the lower counts</button></p>`;
  const action = `/work/contracts/${encodeURIComponent(contractId)}/accept?${new URLSearchParams({ install })}`;
  return formOf(asked, action, says);
}

const heldColumns: readonly Column<ShownContract['held'][number]>[] = [
  ['day', ({ id, day }) => html`<a href="/work/held/${id}">${dayOf(day)}</a>`],
  ['trainer', ({ trainerId }) => maskText(trainerId)],
  ['work', ({ counts }) => describeCounts(counts)],
  ['why', ({ reason }) => describeHeld[reason]],
  ['state', ({ state }) => (state === 'held' ? html`<span class="warn">held</span>` : state)],
];

async function accept(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const [contract, other] = await findAsked(asked, ctx);
  if (contract === undefined || other !== undefined) throw new AppError('not_found', 'There is no such contract');
  await acceptLowered(ctx, asked.by, contract, AbortSignal.timeout(patienceMs));
  return { redirect: workOf(contract) };
}
