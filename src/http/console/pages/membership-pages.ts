import { html } from 'hono/html';
import { AppError } from '../../../domain/errors.ts';
import { type Access, accessColumns, problemOf, projectsOf, reasonOf, untilOf } from '../../../operations/access.ts';
import { contractColumns, type ListedContract } from '../../../operations/contracts.ts';
import type { ExplainedSubject } from '../../../operations/explain.ts';
import type { Explanation } from '../../../operations/explain-reasons.ts';
import type { MembershipInFull } from '../../../operations/members.ts';
import { contractPath, installPath, membershipPath, trainerPath } from '../../../operations/show.ts';
import type { Timeline, TimelineStep } from '../../../operations/timeline.ts';
import type { ConsoleContext, Html, Page, PageRequest } from '../page.ts';
import { actButton, ask } from '../run-operation.ts';
import { exactOf, instantOf, panelOf, sheetOf, stateBadge, tableOf } from '../view/table.ts';
import { numberIn } from './records.ts';

/** The most memberships that a page lists. */
const mostListed = 200;

/** Why a trainer has access to a project or not, and what happened. */
export async function showMembership(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const membership = numberIn(request, 'membership');
  const found = await ask<MembershipInFull>(request, ctx, 'membersShow', { membership });
  const { nextAttemptAt, canConverge, explanations, timeline, ...access } = found;
  const { trainerId, displayName, tool, groupId, install, state, wanted, updatedAt } = access;
  const next = nextAttemptAt ?? untilOf(access);
  return {
    title: `${displayName ?? trainerId} in ${projectsOf(access).join('; ')}`,
    note: stateBadge(state),
    acts: canConverge ? actButton(request, 'membersConverge', { membership }, { label: 'Sync now' }) : '',
    body: html`
      ${sheetOf([
        [
          'trainer',
          html`<a href="${trainerPath(trainerId)}">${displayName ?? trainerId}</a> <span class="id">${trainerId}</span>`,
        ],
        ['tool', html`${tool} <span class="id">${groupId}</span>`],
        ['install', html`<a href="${installPath(install)}">${install}</a>`],
        ['since', instantOf(updatedAt)],
        ['reason', reasonsOf(access)],
        ['problem', problemOf(access) && html`<span class="bad">${problemOf(access)}</span>`],
        [wanted ? 'next try' : 'leaves', next && instantOf(next)],
      ])}
      ${panelOf(titleOf(found), explanationsOf(explanations), html`<span class="quiet">as of now</span>`)}
      ${panelOf('Timeline', timelineOf(timeline))}
    `,
  };
}

function titleOf({ wanted, state }: MembershipInFull): string {
  if (wanted) return state === 'active' ? 'Why access' : 'Why access is to come';
  return state === 'removed' ? 'Why no access' : 'Why access is to end';
}

/** The contracts that give the access, or why it ends. */
function reasonsOf(access: Access): Html | string {
  const { wanted, cause, reasons } = access;
  if (!wanted || cause !== null || reasons.length === 0) return reasonOf(access);
  const contracts = new Map(reasons.map(({ contractId, title }) => [contractId, title ?? `contract ${contractId}`]));
  return html`${[...contracts].map(([id, title], index) => html`${index > 0 && '; '}<a href="${contractPath(id)}">${title}</a>`)}`;
}

export async function showTrainer(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const trainer = request.params['trainer'] ?? '';
  const { explanations, timeline } = await ask<ExplainedSubject>(request, ctx, 'explainShow', {
    subject: trainer,
    timeline: true,
  });
  const own = explanations.filter(({ trainerId }) => trainerId === trainer);
  if (own.length === 0) throw new AppError('not_found', 'No event and no reading has mentioned this trainer');
  return {
    title: own[0]?.displayName ?? trainer,
    body: html`
      <p>Trainer ${trainer}</p>
      ${await accessOf(request, ctx, { trainer })}
      ${panelOf('Why', explanationsOf(own))}
      ${panelOf('Timeline', timelineOf(timeline))}
    `,
  };
}

export async function showContract(request: PageRequest, ctx: ConsoleContext): Promise<Page> {
  const contract = request.params['contract'] ?? '';
  const { items } = await ask<{ items: ListedContract[] }>(request, ctx, 'contractsList', { contract });
  if (items.length === 0) throw new AppError('not_found', 'No event and no reading has mentioned this contract');
  const { explanations, timeline } = await ask<ExplainedSubject>(request, ctx, 'explainShow', {
    subject: contract,
    timeline: true,
  });
  return {
    title: items[0]?.title ?? `Contract ${contract}`,
    body: html`
      ${tableOf('The contract, as each customer has it', items, contractColumns, '')}
      ${items.map((one) => decisionsOf(request, one))}
      ${items.map(({ install }) => ctx.sources.get(install)?.call && html`<p><a href="/hires/contracts/${encodeURIComponent(contract)}?${new URLSearchParams({ install })}">Its milestones at ${install}</a></p>`)}
      <p><a href="/work/contracts/${encodeURIComponent(contract)}">Its work, day by day</a></p>
      ${await accessOf(request, ctx, { contract })}
      ${panelOf('Why', explanationsOf(explanations.filter(({ contractId }) => contractId === contract)))}
      ${panelOf('Timeline', timelineOf(timeline))}
    `,
  };
}

async function accessOf(request: PageRequest, ctx: ConsoleContext, of: { trainer: string } | { contract: string }) {
  const { items } = await ask<{ items: Access[] }>(request, ctx, 'accessSearch', { ...of, limit: mostListed });
  return panelOf('Access', tableOf('Projects and trainers', items, accessColumns, noAccess));
}

const noAccess = 'There is no membership. One appears when a contract starts whose job is linked to a project.';

/** What an operator can decide about a contract. */
function decisionsOf(request: PageRequest, { contractId, install, status, canReopen }: ListedContract): Html {
  const given = { contract: contractId, install };
  const button = (label: string) => ({ label, about: `${label}: contract ${contractId} of ${install}` });
  return html`<div class="acts">
    ${status !== 'ended' && actButton(request, 'contractsEnd', given, { ...button('End access by it now'), tone: 'danger' })}
    ${canReopen && actButton(request, 'contractsReopen', given, button('Treat it as active'))}
  </div>`;
}

/** The most explanations that a page shows. */
const mostExplained = 50;

function explanationsOf(explanations: readonly Explanation[]): Html {
  if (explanations.length === 0) return html`<p class="empty">No known contract gives a reason.</p>`;
  const left = explanations.length - mostExplained;
  return html`
    ${explanations.slice(0, mostExplained).map(explanationOf)}
    ${left > 0 && html`<p class="quiet">${left} more are left out. See the page of a trainer.</p>`}
  `;
}

function explanationOf({ trainerId, displayName, install, contractId, steps, action }: Explanation): Html {
  return html`<h3 class="sub">
      ${displayName ?? trainerId ?? 'No trainer'}, by contract <a href="${contractPath(contractId)}">${contractId}</a> of ${install}
    </h3>
    <ul class="steps">
      ${steps.map(({ holds, says }) => html`<li class="${holds ? '' : 'no'}"><span>${says}</span></li>`)}
    </ul>
    <p class="sub">To do: ${action}</p>`;
}

function timelineOf(timeline: Timeline | null): Html {
  const { steps, isCutOff } = timeline ?? { steps: [], isCutOff: false };
  if (steps.length === 0) return html`<p class="empty">Nothing has happened yet.</p>`;
  return html`<ol class="line">
      ${steps.map((step) => html`<li>${exactOf(step.at)}<span>${step.says}${seeOf(step)}</span></li>`)}
    </ol>
    ${isCutOff && html`<p class="quiet">Older steps are left out.</p>`}`;
}

function seeOf({ deliveryId, membershipId, actId }: TimelineStep): Html | string {
  if (deliveryId !== undefined) return html` <a href="/deliveries/${deliveryId}">delivery ${deliveryId}</a>`;
  if (actId !== undefined) return html` <a href="/acts/${actId}">act ${actId}</a>`;
  return membershipId === undefined
    ? ''
    : html` <a href="${membershipPath(membershipId)}">membership ${membershipId}</a>`;
}
