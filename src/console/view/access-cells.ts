import { html } from 'hono/html';
import { describeCause } from '../../domain/standing.ts';
import { maskText } from '../../lib/mask.ts';
import type { Access, AccessReason } from '../../memberships/access-list-store.ts';
import type { Html } from '../page.ts';
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

export function whyOf({ failure, doubtedId, cause, reasons, wanted }: Access): string {
  if (failure !== null) return maskText(failure);
  if (doubtedId !== null) return `account ${maskText(doubtedId)}: whose is it?`;
  if (cause !== null) return describeCause(cause);
  if (!wanted) return 'nothing speaks for it';
  return contractsOf(reasons).map(titleOf).join('; ');
}

/** Such as “leaves 14:05, link removed”; of those who stay, why they have access. */
function leavesOrWhy(access: Access): Html | string {
  const { state, removeAfter } = access;
  if (state === 'held') return html`leaves when the plan is approved, ${whyOf(access)}`;
  if (state === 'removing') return html`leaves ${instantOf(removeAfter) || 'now'}, ${whyOf(access)}`;
  return whyOf(access);
}

/** When the access ends, as far as that is known. */
export function untilOf({ removeAfter, reasons, wanted }: Access): string | null {
  if (removeAfter !== null) return removeAfter;
  const ends = reasons.flatMap(({ endDate }) => endDate ?? []);
  // A contract without a known end gives access for as long as that is so.
  if (!wanted || ends.length < reasons.length) return null;
  return ends.sort().at(-1) ?? null;
}

export function contractsOf(reasons: readonly AccessReason[]): AccessReason[] {
  return [...new Map(reasons.map((one) => [JSON.stringify([one.install, one.contractId]), one])).values()];
}

function titleOf({ title, contractId }: AccessReason): string {
  return title === null ? `contract ${contractId}` : maskText(`contract “${title}”`);
}

export function contractLink(reason: AccessReason): Html {
  return html`<a href="/contracts/${encodeURIComponent(reason.contractId)}">${titleOf(reason)}</a>`;
}

export function trainerLink(trainer: Pick<Access, 'displayName' | 'trainerId'>): Html {
  return html`<a href="/trainers/${encodeURIComponent(trainer.trainerId)}">${nameOf(trainer)}</a>`;
}

export const accessColumns: readonly Column<Access>[] = [
  ['trainer', trainerLink],
  ['trainer id', ({ trainerId }) => maskText(trainerId)],
  ['project', (access) => projectsOf(access).join('; ')],
  ['tool', ({ tool }) => tool],
  ['install', ({ install }) => install],
  ['state', ({ id, state }) => html`<a href="/memberships/${id}">${state}</a>`],
  ['since', ({ updatedAt }) => instantOf(updatedAt)],
  ['why', leavesOrWhy],
  ['until', (access) => instantOf(untilOf(access))],
];
