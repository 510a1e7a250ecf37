import { html } from 'hono/html';
import { type ListedReceipt, listReceipts } from '../../converge/receipt-store.ts';
import { AppError } from '../../domain/errors.ts';
import { maskText } from '../../lib/mask.ts';
import { pageMemberships } from '../../memberships/membership-list-store.ts';
import type { Explanation } from '../../operator/explain.ts';
import { explainSubject } from '../../operator/explain-subject.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { Html, Page, View } from '../page.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';
import { stateOf, whyOf } from './access-page.ts';

/** Why a trainer has access or not, from contract to login, and what was done about it. */
export const trainerViews: readonly View<ConsoleParts>[] = [
  { path: '/trainers/:id', show: ({ params }, parts) => showSubject(params['id'] ?? '', parts, 'trainer') },
  { path: '/contracts/:id', show: ({ params }, parts) => showSubject(params['id'] ?? '', parts, 'contract') },
];

type Membership = Awaited<ReturnType<typeof pageMemberships>>[number];

const mostMemberships = 200;
const mostReceipts = 200;

async function showSubject(subject: string, parts: ConsoleParts, what: 'trainer' | 'contract'): Promise<Page> {
  const { explanations, attention } = await explainSubject(parts, subject);
  const ids = [...new Set(explanations.flatMap(({ trainerId }) => trainerId ?? []))];
  const memberships = what === 'trainer' ? await loadMemberships(subject, parts) : [];
  if (explanations.length === 0 && memberships.length === 0) {
    throw new AppError('not_found', `Nothing is known of such a ${what}: no event named it, and no reading`);
  }
  const receipts = await listReceipts(
    parts.database.kysely,
    memberships.map(({ id }) => id),
    mostReceipts,
  );
  const name = explanations.find(({ displayName }) => displayName !== null)?.displayName ?? subject;
  return {
    title: what === 'trainer' ? maskText(name) : `Contract ${subject}`,
    body: html`
      ${what === 'contract' && trainersOf(ids)}
      ${attention.map(({ says, action }) => html`<p class="warn">${says}. ${action}</p>`)}
      <h2>Why</h2>
      ${explanations.map(showExplanation)} ${what === 'trainer' && showHistory(memberships, receipts)}
    `,
  };
}

async function loadMemberships(trainerId: string, { database }: ConsoleParts): Promise<Membership[]> {
  const trainer = { text: trainerId, digests: [] };
  const found = await pageMemberships(database.kysely, { trainer, limit: mostMemberships });
  return found.filter((one) => one.trainerId === trainerId);
}

function trainersOf(ids: readonly string[]): Html {
  return html`<p>Trainers: ${ids.map((id) => html`<a href="/trainers/${encodeURIComponent(id)}">${id}</a> `)}</p>`;
}

function showExplanation({ trainerId, install, contractId, steps, action }: Explanation): Html {
  return html`<section class="sheet">
    <h3>
      ${trainerId ?? 'No trainer'}, by contract
      <a href="/contracts/${encodeURIComponent(contractId)}">${contractId}</a> of ${install}
    </h3>
    <ol class="steps">
      ${steps.map(
        ({ step, holds, says }) =>
          html`<li>
            <span class="${holds ? 'good' : 'warn'}">${holds ? 'yes' : 'no'}</span> <strong>${step}</strong>: ${says}
          </li>`,
      )}
    </ol>
    <p>To do: ${action}</p>
  </section>`;
}

function showHistory(memberships: readonly Membership[], receipts: readonly ListedReceipt[]): Html {
  const projects = new Map(memberships.map(({ id, groupId, tool }) => [id, `${groupId} of ${tool}`]));
  return html`
    <h2>Projects</h2>
    ${tableOf('Where the trainer is, was or is to be', memberships, membershipColumns, 'The trainer is in no project.')}
    <h2>What was done</h2>
    ${tableOf('What was done in the tools, the newest first', receipts, receiptColumns(projects), 'Nothing was done yet.')}
  `;
}

const membershipColumns: readonly Column<Membership>[] = [
  ['project', ({ groupId }) => groupId],
  ['tool', ({ tool }) => tool],
  ['customer', ({ install }) => install],
  ['state', ({ state }) => stateOf(state)],
  ['since', ({ updatedAt }) => instantOf(updatedAt)],
  ['why', whyOf],
  ['until', ({ removeAfter }) => instantOf(removeAfter)],
];

const receiptColumns = (projects: ReadonlyMap<number, string>): readonly Column<ListedReceipt>[] => [
  ['at', ({ createdAt }) => instantOf(createdAt)],
  ['project', ({ membershipId }) => projects.get(membershipId) ?? ''],
  ['operation', ({ operation }) => operation],
  ['outcome', ({ outcome }) => outcome.replaceAll('_', ' ')],
  ['message', ({ message }) => (message === null ? '' : maskText(message))],
];
