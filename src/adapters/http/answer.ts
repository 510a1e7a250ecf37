import type { Member } from '../adapter.ts';
import type { MemberSettings } from './http-schema.ts';

/** Finding one's way in what a tool answered: pure, and surprised by nothing. */

/** What stands at `data.0.user`: own keys and indices, joined by dots; the whole at an empty path. */
export function pick(answer: unknown, path: string): unknown {
  if (path === '') return answer;
  return path.split('.').reduce<unknown>(childOf, answer);
}

function childOf(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return (parent as Record<string, unknown>)[key];
}

/**
 * The member that an item of an answer is.
 *
 * @returns null for somebody who is marked as gone, undefined for an item without an id
 */
export function toMember(item: unknown, settings: MemberSettings): Member | null | undefined {
  const id = toId(pick(item, settings.id));
  if (id === undefined) return undefined;
  if (isMarked(item, settings.gone)) return null;
  const email = pick(item, settings.email);
  return {
    id,
    email: typeof email === 'string' && email !== '' ? email : null,
    ...(isMarked(item, settings.invited) && { isInvited: true }),
  };
}

function toId(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  // Beyond that, two numbers read as one.
  return Number.isSafeInteger(id) ? String(id) : undefined;
}

function isMarked(item: unknown, mark: MemberSettings['gone']): boolean {
  return mark?.is.some((value) => value === pick(item, mark.at)) === true;
}
