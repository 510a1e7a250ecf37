import { AppError } from '../../domain/errors.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Member, Person } from '../adapter.ts';
import { pick, toMember } from './answer.ts';
import { type HttpCall, readPages, send } from './http-api.ts';
import type { HttpSettings, ListRequest } from './http-schema.ts';
import { type TemplateValues, toValues } from './template.ts';

/** Finds and lists members, by the requests that the settings declare. */

export async function findMember(
  settings: HttpSettings,
  groupId: string,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const { findById, find, list } = settings.requests;
  const { memberId } = person;
  const known = memberId === null ? null : await findMemberById(settings, groupId, memberId, signal);
  const request = find ?? list;
  if (known !== null || request === undefined) return known;
  const call = { purpose: 'find the member', values: valuesOfPerson(groupId, person), signal };
  const found = await pickPerson(readMembers(settings, request, call), person);
  // Without `findById`, only the list shows a member whose address has changed.
  const isListAsked = memberId !== null && findById === undefined && find !== undefined;
  if (found !== null || !isListAsked || list === undefined) return found;
  return await pickPerson(readMembers(settings, list, call), person);
}

async function findMemberById(
  settings: HttpSettings,
  groupId: string,
  memberId: string,
  signal: AbortSignal,
): Promise<Member | null> {
  const { findById } = settings.requests;
  if (findById === undefined) return null;
  const values = toValues({ group: groupId, memberId });
  const call = { purpose: 'find the member', values, signal, expected: findById.absent };
  const answer = await send(settings, findById, call);
  const member = toMember(pick(answer.body, findById.item), settings.member);
  return member?.id === memberId ? member : null;
}

export async function findAccount(
  settings: HttpSettings,
  request: ListRequest,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const call = { purpose: 'find the account', values: valuesOfPerson(null, person), signal };
  // An id alone says nothing: tools give them out again.
  return await pickPerson(readMembers(settings, request, call), { ...person, memberId: null });
}

/** Yields each member once: a list that changes while it is read may show one on two pages. */
export async function* readMembers(
  settings: HttpSettings,
  request: ListRequest,
  call: HttpCall,
): AsyncGenerator<Member> {
  const seen = new Set<string>();
  const isFinding = request !== settings.requests.list;
  const itemsOf = (body: unknown) => toItems(pick(body, request.items), isFinding, call.purpose);
  for await (const item of readPages(settings, request, call, itemsOf)) {
    const member = toMember(item, settings.member);
    if (member === undefined) {
      throw new AppError('invalid', `Could not ${call.purpose}: an item has no id at "${settings.member.id}"`);
    }
    if (member === null || seen.has(member.id)) continue;
    seen.add(member.id);
    yield member;
  }
}

/** The member with the tool's id, anywhere in the list; else the one with the address. */
async function pickPerson(members: AsyncIterable<Member>, { memberId, email }: Person): Promise<Member | null> {
  let found: Member | null = null;
  for await (const member of members) {
    if (member.id === memberId) return member;
    if (!isSameAddress(member.email, email)) continue;
    if (memberId === null) return member;
    found ??= member;
  }
  return found;
}

/** @param groupId null where a request is about no group */
export function valuesOfPerson(groupId: string | null, { trainerId, email, displayName }: Person): TemplateValues {
  return toValues({
    group: groupId,
    trainerId,
    // So that tools that compare addresses letter by letter find the member again.
    email: email.toLowerCase(),
    // Most tools refuse an empty name.
    displayName: displayName?.trim() || trainerId,
  });
}

/** A search may also answer one object, or null for no result. */
function toItems(items: unknown, isFinding: boolean, purpose: string): unknown[] {
  if (Array.isArray(items)) return items;
  if (isFinding && items === null) return [];
  if (isFinding && typeof items === 'object') return [items];
  throw new AppError('invalid', `Could not ${purpose}: there is no list where "items" says`);
}
