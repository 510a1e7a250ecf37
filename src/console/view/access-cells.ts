import { html } from 'hono/html';
import { maskText } from '../../lib/mask.ts';
import type { Access, AccessReason } from '../../memberships/access-list-store.ts';
import { contractsOf, problemOf, projectsOf, reasonOf, titleOf, untilOf } from '../../operations/access.ts';
import type { Html } from '../page.ts';
import { membershipBadge } from './badge.ts';
import { instantOf } from './instant.ts';
import type { Column } from './table.ts';

/** What is said of a membership in lists. Strangers choose names, and a tool may use addresses as ids. */

export function nameOf({ displayName, trainerId }: Pick<Access, 'displayName' | 'trainerId'>): string {
  return maskText(displayName ?? trainerId);
}

function problemCell(access: Access): Html | string {
  const problem = maskText(problemOf(access) ?? '');
  if (access.state === 'held') return html`Leaves when the plan is approved ${problem}`;
  return access.state === 'removing' ? html`Leaves ${instantOf(access.removeAfter) || 'now'} ${problem}` : problem;
}

function contractLink(reason: Pick<AccessReason, 'contractId' | 'title'>): Html {
  return html`<a href="/contracts/${encodeURIComponent(reason.contractId)}">${maskText(titleOf(reason))}</a>`;
}

export function trainerLink(trainer: Pick<Access, 'displayName' | 'trainerId'>): Html {
  return html`<a href="/trainers/${encodeURIComponent(trainer.trainerId)}">${nameOf(trainer)}</a>`;
}

export const accessColumns: readonly Column<Access>[] = [
  ['Trainer', (access) => html`${trainerLink(access)}<small class="id">${maskText(access.trainerId)}</small>`],
  [
    'Project',
    (access) => html`${maskText(projectsOf(access).join('; '))}<small>${access.tool} · ${access.install}</small>`,
  ],
  ['State', ({ id, state }) => html`<a href="/memberships/${id}">${membershipBadge(state)}</a>`],
  ['Since', ({ updatedAt }) => instantOf(updatedAt)],
  ['Reason', reasonsOf],
  ['Problem', problemCell],
  ['Until', (access) => instantOf(untilOf(access))],
];

export function reasonsOf(access: Access): Html | string {
  const links = access.wanted && access.cause === null ? contractsOf(access.reasons).map(contractLink) : [];
  return links.length === 0
    ? maskText(reasonOf(access))
    : html`${links.map((link, index) => html`${index > 0 ? '; ' : ''}${link}`)}`;
}
