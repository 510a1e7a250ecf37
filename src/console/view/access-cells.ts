import { html } from 'hono/html';
import { describeCause } from '../../domain/standing.ts';
import { maskText } from '../../lib/mask.ts';
import type { Access, AccessReason } from '../../memberships/access-list-store.ts';
import type { Html } from '../page.ts';
import { membershipBadge } from './badge.ts';
import { instantOf } from './instant.ts';
import type { Column } from './table.ts';

/** What is said of a membership in lists. Strangers choose names, and a tool may use addresses as ids. */

export function nameOf({ displayName, trainerId }: Pick<Access, 'displayName' | 'trainerId'>): string {
  return maskText(displayName ?? trainerId);
}

/** The customers' names of the projects; the id of the group where none is known. */
export function projectsOf({ reasons, groupId }: Pick<Access, 'reasons' | 'groupId'>): string[] {
  const projects = reasons.flatMap(({ externalProjectId: id, externalProjectName: name }) => {
    if (id === null) return [];
    return [name === null || name === id ? id : `${name} (${id})`];
  });
  return projects.length === 0 ? [maskText(groupId)] : [...new Set(projects.map((one) => maskText(one)))];
}

/** Why somebody has access, or why it ends. */
export function reasonOf({ cause, reasons, wanted }: Access): string {
  if (cause !== null) return describeCause(cause);
  return wanted ? contractsOf(reasons).map(titleOf).join('; ') : 'no active contract';
}

/** What keeps somebody from getting in or out. */
export function problemOf({ failure, doubtedId, state }: Access): string {
  if (failure !== null) return maskText(failure);
  if (doubtedId !== null) return `Account ${maskText(doubtedId)}: whose is it?`;
  return state === 'held' ? 'Leaves when the plan is approved' : '';
}

function problemCell(access: Access): Html | string {
  if (access.state !== 'removing') return problemOf(access);
  return html`Leaves ${instantOf(access.removeAfter) || 'now'} ${problemOf(access)}`;
}

/** When the access ends, as far as that is known. */
export function untilOf({ removeAfter, reasons, wanted }: Access): string | null {
  if (removeAfter !== null) return removeAfter;
  const ends = reasons.flatMap(({ endDate }) => endDate ?? []);
  // A contract without a known end gives access for as long as that is so.
  if (!wanted || ends.length < reasons.length) return null;
  return ends.sort().at(-1) ?? null;
}

function contractsOf(reasons: readonly AccessReason[]): AccessReason[] {
  return [...new Map(reasons.map((one) => [JSON.stringify([one.install, one.contractId]), one])).values()];
}

function titleOf({ title, contractId }: AccessReason): string {
  return title === null ? `Contract ${contractId}` : maskText(title);
}

function contractLink(reason: AccessReason): Html {
  return html`<a href="/contracts/${encodeURIComponent(reason.contractId)}">${titleOf(reason)}</a>`;
}

export function trainerLink(trainer: Pick<Access, 'displayName' | 'trainerId'>): Html {
  return html`<a href="/trainers/${encodeURIComponent(trainer.trainerId)}">${nameOf(trainer)}</a>`;
}

export const accessColumns: readonly Column<Access>[] = [
  ['Trainer', (access) => html`${trainerLink(access)}<small class="id">${maskText(access.trainerId)}</small>`],
  ['Project', (access) => html`${projectsOf(access).join('; ')}<small>${access.tool} · ${access.install}</small>`],
  ['State', ({ id, state }) => html`<a href="/memberships/${id}">${membershipBadge(state)}</a>`],
  ['Since', ({ updatedAt }) => instantOf(updatedAt)],
  ['Reason', reasonsOf],
  ['Problem', problemCell],
  ['Until', (access) => instantOf(untilOf(access))],
];

export function reasonsOf(access: Access): Html | string {
  const links = access.wanted && access.cause === null ? contractsOf(access.reasons).map(contractLink) : [];
  return links.length === 0
    ? reasonOf(access)
    : html`${links.map((link, index) => html`${index > 0 ? '; ' : ''}${link}`)}`;
}
