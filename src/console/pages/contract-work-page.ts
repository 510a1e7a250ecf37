import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { addCounts, type Counts, countNames, type Day, noCounts } from '../../domain/usage.ts';
import { findContracts } from '../../evidence/contract-store.ts';
import { addDays } from '../../lib/add-days.ts';
import { maskText } from '../../lib/mask.ts';
import { acceptLowered, decideHeldWork } from '../../operator/decide-work.ts';
import { workKey } from '../../usage/attribute/attribute-work.ts';
import { heldIdOf } from '../../usage/attribute/decision-store.ts';
import { findHeldDifference, type ListedDifference } from '../../usage/compare/comparison-store.ts';
import { describeDifference, describeHeld } from '../../usage/compare/describe-difference.ts';
import { type ContractGaps, showGaps } from '../../usage/show/show-gaps.ts';
import { type ShownContract, type ShownDay, showUsage } from '../../usage/show/show-usage.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { trainerLink } from '../view/access-cells.ts';
import { chartOf } from '../view/chart.ts';
import { describeCharted, describeCounts, toCharted } from '../view/counts.ts';
import { chosen, chosenOf, filterForm } from '../view/filter.ts';
import { dayOf, instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { whereOf, whyOf, workOf } from './work-page.ts';

/** The work on one contract, day by day, and what an operator decides about work that is held. */
export const contractWorkViews: readonly View[] = [
  { path: '/work/contracts/:id', show: showContractWork },
  { path: '/work/held/:id', show: showHeldOne },
];

export const contractWorkActs: readonly Act[] = [
  { path: '/work/contracts/:id/accept', act: accept },
  { path: '/work/held/:id/assign', act: assign },
  { path: '/work/held/:id/discard', act: discard },
];

/** So many days of trainers a page lists, and so many days a chart has at most. */
const mostListed = 500;
const mostDays = 60;
const yes = ['yes'] as const;
const patienceMs = 60_000;

async function showContractWork(asked: Asked, ctx: ConsoleParts): Promise<Page> {
  const found = await findAsked(asked, ctx);
  const [contract, other] = found;
  if (contract === undefined) throw new AppError('not_found', 'No event and no reading has named such a contract');
  if (other !== undefined) return chooseInstall(found);
  const { install, contractId, title } = contract;
  const shown = await showUsage(ctx, install, contractId);
  const gaps = await showGaps(ctx, install, contractId);
  return {
    title: title === null ? `Work on contract ${contractId}` : maskText(`Work on “${title}”`),
    body: html`
      <p><a href="/contracts/${encodeURIComponent(contractId)}">Contract ${contractId}</a> of ${install}</p>
      ${sumsOf(shown)}
      ${gapsOf(gaps)}
      ${chartOfContract(shown)}
      ${daysOf(asked, shown)}
      ${acceptForm(asked, contract, shown)}
      <h2>Held</h2>
      ${tableOf('Work that may be of this contract and is held', shown.held, heldColumns, 'No work of this contract is held.')}
    `,
  };
}

async function findAsked({ params, query }: Asked, { database }: ConsoleParts) {
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
  const seen = days.reduce((sum, one) => addCounts(sum, one.seen ?? noCounts), noCounts);
  return html`<dl>
    <dt>Counted lately</dt>
    <dd>${describeCounts(seen)}</dd>
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

function chartOfContract({ days }: ShownContract): Html | string {
  const byDay = [...Map.groupBy(days, ({ day }) => day)].map(([day, some]) => ({ day, ...sumDay(some) }));
  const [first, last] = [byDay[0]?.day, byDay.at(-1)?.day];
  if (first === undefined || last === undefined) return '';
  const count = countNames.find((name) => byDay.some(({ seen, sent }) => seen[name] || sent[name])) ?? 'seconds';
  const from = maxDay(first, addDays(last, 1 - mostDays));
  return chartOf({
    title: `${count} of work from ${from} to ${last}, by day: the table beneath has the numbers`,
    from,
    to: last,
    days: byDay.map(({ day, seen, sent, isMarked }) => ({
      day,
      bar: toCharted(count, sent[count]),
      line: toCharted(count, seen[count]),
      isMarked,
    })),
    legend: { bar: 'the marketplace has', line: 'the tools counted', mark: 'they differ' },
    say: describeCharted(count),
  });
}

function sumDay(some: readonly ShownDay[]): { seen: Counts; sent: Counts; isMarked: boolean } {
  return {
    seen: some.reduce((sum, one) => addCounts(sum, one.seen ?? noCounts), noCounts),
    sent: some.reduce((sum, one) => addCounts(sum, one.sent ?? noCounts), noCounts),
    isMarked: some.some(({ why }) => why !== null),
  };
}

function maxDay(one: Day, other: Day): Day {
  return one > other ? one : other;
}

function daysOf(asked: Asked, { days }: ShownContract): Html {
  const differs = chosenOf(asked.query, 'differs', yes);
  const chosenDays = differs === undefined ? days : days.filter(({ why }) => why !== null);
  const latest = chosenDays.toReversed().slice(0, mostListed);
  const install = chosen(asked.query, 'install');
  const fields = [{ name: 'differs', label: 'tool and marketplace differ', options: yes }];
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
  ['the tools counted', ({ seen }) => describeCounts(seen)],
  ['the marketplace has', ({ sent }) => describeCounts(sent)],
  ['differ because', ({ why }) => (why === null ? '' : html`<span class="warn">${describeDifference[why]}</span>`)],
  ['sent', ({ sentAt }) => instantOf(sentAt)],
  ['answer', ({ state, status, message }) => answerOf(state, status, message)],
];

function answerOf(state: ShownDay['state'], status: number | null, message: string | null): string {
  if (state === null) return 'not sent';
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
  ['day', ({ observation }) => dayOf(observation.day)],
  ['trainer', ({ observation }) => maskText(observation.trainerId)],
  ['work', ({ observation }) => describeCounts(observation.counts)],
  ['because', ({ reason }) => describeHeld[reason]],
  ['to do', ({ observation }) => html`<a href="/work/held/${heldIdOf(workKey(observation))}">assign or discard it</a>`],
];

async function accept(asked: Asked, ctx: ConsoleParts): Promise<Redirect> {
  const [contract, other] = await findAsked(asked, ctx);
  if (contract === undefined || other !== undefined) throw new AppError('not_found', 'There is no such contract');
  await acceptLowered(ctx, asked.by, contract, AbortSignal.timeout(patienceMs));
  return { redirect: workOf(contract) };
}

async function showHeldOne(asked: Asked, ctx: ConsoleParts): Promise<Page> {
  const held = await findHeld(asked, ctx);
  const contracts = held.held?.contracts ?? [];
  const { day, seen, heldId } = held;
  const options = contracts.map(
    ({ contractId, install }) => html`<option value="${contractId}">${contractId} (${install})</option>`,
  );
  return {
    title: `Held work of ${day}`,
    body: html`
      <dl>
        <dt>Trainer</dt>
        <dd>${trainerLink(held)}</dd>
        <dt>Where</dt>
        <dd>${whereOf(held)}</dd>
        <dt>Work</dt>
        <dd>${describeCounts(seen)}</dd>
        <dt>Why</dt>
        <dd>${whyOf(held)}</dd>
        <dt>It may be of</dt>
        <dd>${contracts.length === 0 ? 'no contract that is known' : contracts.map((one) => html`<a href="${workOf(one)}">${one.contractId}</a> `)}</dd>
      </dl>
      ${
        contracts.length > 0 &&
        formOf(
          asked,
          `/work/held/${heldId}/assign`,
          html`<div class="filter">
            <label>Contract <select name="contract">${options}</select></label>
            <button>Assign all of the day to it</button>
          </div>`,
        )
      }
      ${formOf(asked, `/work/held/${heldId}/discard`, html`<p><button class="danger">Discard it: never report it</button></p>`)}
    `,
  };
}

async function assign(asked: Asked, ctx: ConsoleParts): Promise<Redirect> {
  const { heldId, trainerId } = await findHeld(asked, ctx);
  const contractId = asked.form.get('contract') ?? '';
  await decideHeldWork(ctx, asked.by, heldId ?? '', contractId, trainerId);
  return { redirect: `/work/contracts/${encodeURIComponent(contractId)}` };
}

async function discard(asked: Asked, ctx: ConsoleParts): Promise<Redirect> {
  const { heldId, trainerId } = await findHeld(asked, ctx);
  await decideHeldWork(ctx, asked.by, heldId ?? '', null, trainerId);
  return { redirect: '/work/held' };
}

/** @throws AppError `not_found` */
async function findHeld({ params }: Asked, ctx: ConsoleParts): Promise<ListedDifference> {
  const id = params['id'] ?? '';
  const held = /^[0-9a-f]{12}$/.test(id) ? await findHeldDifference(ctx, id) : undefined;
  if (held === undefined) throw new AppError('not_found', 'No such work is held any more');
  return held;
}
