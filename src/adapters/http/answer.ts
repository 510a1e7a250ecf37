import type { Member } from '../adapter.ts';
import { toId } from '../values.ts';
import type { MemberSettings } from './http-schema.ts';

/** Finds values in the answer of a tool. Pure; any answer is accepted. */

/** The value at a path such as `data.0.user`; an empty path means the whole answer. */
export function pick(answer: unknown, path: string): unknown {
  if (path === '') return answer;
  return path.split('.').reduce<unknown>(childOf, answer);
}

function childOf(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return (parent as Record<string, unknown>)[key];
}

/**
 * An item of an answer as a member.
 *
 * @returns null for an item that is marked as gone, undefined for an item without an id
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

function isMarked(item: unknown, mark: MemberSettings['gone']): boolean {
  return mark?.is.some((value) => value === pick(item, mark.at)) === true;
}
