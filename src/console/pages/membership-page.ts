import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import { statusOfContract } from '../../domain/evidence-status.ts';
import { maskText } from '../../lib/mask.ts';
import { type Access, listAccess } from '../../memberships/access-list-store.ts';
import { problemOf, projectsOf } from '../../operations/access.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { convergeNow } from '../../operator/converge-now.ts';
import { explainSubject } from '../../operator/explain-subject.ts';
import { loadMembership } from '../../operator/load-membership.ts';
import { loadTimeline } from '../../operator/timeline/load-timeline.ts';
import { type Act, type Asked, formOf, type Html, type Page, type Redirect, type View } from '../page.ts';
import { accessColumns, nameOf, reasonsOf, trainerLink } from '../view/access-cells.ts';
import { membershipBadge, stateBadge } from '../view/badge.ts';
import { toRowId } from '../view/filter.ts';
import { instantOf } from '../view/instant.ts';
import { tableOf } from '../view/table.ts';
import { explanationsOf, timelineTable } from '../view/timeline-table.ts';
import { decisionsOf } from './contracts-page.ts';

/** Why a trainer has access or not, and what happened. */
export const membershipViews: readonly View[] = [
  { path: '/memberships/:id', show: showMembership },
  { path: '/trainers/:id', show: showTrainer },
  { path: '/contracts/:id', show: showContract },
];

export const membershipActs: readonly Act[] = [{ path: '/memberships/:id/converge', act: converge }];

/** So many memberships a page lists. */
const mostListed = 200;

async function showMembership(asked: Asked, ctx: OperationContext): Promise<Page> {
  const id = idOf(asked);
  const { nextAttemptAt, canConverge, explanations, timeline, ...access } = await loadMembership(ctx, id);
  const canSync = asked.operator.role === 'operator' && canConverge;
  return {
    title: maskText(`${nameOf(access)} in ${projectsOf(access).join('; ')}`),
    note: membershipBadge(access.state),
    acts: canSync ? formOf(asked, `/memberships/${id}/converge`, html`<button>Sync now</button>`) : '',
    body: html`
      ${factsOf(access, nextAttemptAt)}
      <section class="panel">
        <header><h2>${access.wanted ? 'Why access' : 'Why no access'}</h2><span class="quiet">as of now</span></header>
        ${explanationsOf(explanations)}
      </section>
      <section class="panel">
        <header><h2>Timeline</h2></header>
        ${timelineTable(timeline)}
      </section>
    `,
  };
}

function factsOf(access: Access, nextAttemptAt: string | null): Html {
  const { trainerId, tool, groupId, install, updatedAt, removeAfter } = access;
  const next = nextAttemptAt ?? removeAfter;
  const problem = problemOf(access);
  return html`<dl class="sheet">
    <dt>Trainer</dt>
    <dd>${trainerLink(access)} <span class="id">${maskText(trainerId)}</span></dd>
    <dt>Tool</dt>
    <dd>${tool} <span class="id">${maskText(groupId)}</span></dd>
    <dt>Customer</dt>
    <dd><a href="/installs/${encodeURIComponent(install)}">${install}</a></dd>
    <dt>Since</dt>
    <dd>${instantOf(updatedAt)}</dd>
    <dt>Reason</dt>
    <dd>${reasonsOf(access)}</dd>
    ${problem !== null && html`<dt>Problem</dt><dd class="bad">${maskText(problem)}</dd>`}
    ${next && html`<dt>Next try</dt><dd>${instantOf(next)}</dd>`}
  </dl>`;
}

async function converge(asked: Asked, ctx: OperationContext): Promise<Redirect> {
  const id = idOf(asked);
  await convergeNow(ctx, asked.by, id);
  return { redirect: `/memberships/${id}` };
}

async function showTrainer(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { kysely } = ctx.database;
  const trainerId = textIdOf(asked);
  const memberships = await listAccess(kysely, { trainerId, limit: mostListed });
  const { explanations, bearing } = await explainSubject(ctx, trainerId);
  const isOf = (one: { trainerId: string | null }) => one.trainerId === trainerId;
  if (memberships.length === 0 && !bearing.participations.some(isOf)) {
    throw new AppError('not_found', 'No event and no reading has named such a trainer');
  }
  const name = bearing.people.find(isOf)?.displayName ?? trainerId;
  return {
    title: maskText(name),
    body: html`
      <p>Trainer ${maskText(trainerId)}</p>
      <h2>Access</h2>
      ${tableOf('Projects of this trainer', memberships, accessColumns, noAccess)}
      <h2>Why</h2>
      ${explanationsOf(explanations.filter(isOf))}
      <h2>What happened</h2>
      ${timelineTable(await loadTimeline(ctx.database, { trainerId }, bearing))}
    `,
  };
}

const noAccess = 'There is no membership. One appears when a contract begins whose job is linked to a project.';

async function showContract(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { kysely } = ctx.database;
  const contractId = textIdOf(asked);
  const { explanations, bearing } = await explainSubject(ctx, contractId);
  const isIt = (one: { contractId: string }) => one.contractId === contractId;
  const contracts = bearing.contracts.filter(isIt);
  const [contract] = contracts;
  if (contract === undefined) throw new AppError('not_found', 'No event and no reading has named such a contract');
  const memberships = await listAccess(kysely, { contractId, limit: mostListed });
  const timeline = await loadTimeline(
    ctx.database,
    { contractId },
    { ...bearing, contracts, participations: bearing.participations.filter(isIt) },
  );
  return {
    title: contract.title === null ? `Contract ${contractId}` : maskText(contract.title),
    body: html`
      ${tableOf(
        'The contract, as each install knows it',
        contracts,
        [
          ['Contract', (one) => one.contractId],
          ['Customer', ({ install }) => install],
          ['Status', (one) => stateBadge(statusOfContract(one))],
          ['Begins', ({ startDate }) => instantOf(startDate)],
          ['Ends', ({ endDate }) => instantOf(endDate)],
        ],
        '',
      )}
      ${contracts.map((one) => decisionsOf(asked, one))}
      <p><a href="/work/contracts/${encodeURIComponent(contractId)}">Its work, day by day</a></p>
      <h2>Access</h2>
      ${tableOf('Trainers who have or had access by it', memberships, accessColumns, noAccess)}
      <h2>Why</h2>
      ${explanationsOf(explanations.filter(isIt))}
      <h2>What happened</h2>
      ${timelineTable(timeline)}
    `,
  };
}

function idOf({ params }: Asked): number {
  const id = toRowId(params['id']);
  if (id === undefined) throw new AppError('not_found', 'There is no such membership');
  return id;
}

/** An id of the marketplace. No id has control characters, and a database may refuse them. */
function textIdOf({ params }: Asked): string {
  const id = params['id'] ?? '';
  if (id === '' || id.length > 500 || /\p{Cc}/u.test(id) || !id.isWellFormed()) {
    throw new AppError('not_found', 'There is no such id');
  }
  return id;
}
