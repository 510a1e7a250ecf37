import { AppError } from '../../domain/errors.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Adapter, Member, Person } from '../adapter.ts';
import { pick, toMember } from './answer.ts';
import type { HttpApi } from './http-api.ts';
import type { HttpSettings, PageSettings } from './http-schema.ts';
import type { TemplateValues } from './template.ts';

/** The part of the port that reads, by the requests that the settings declare. */
export interface MemberSearch {
  find: Adapter['findMember'];
  list: Adapter['listMembers'];
  findAccount: Adapter['findAccount'];
}

/** What requests that read members have in common. */
interface Reading {
  items: string;
  absent: readonly number[];
  pages: PageSettings;
}

type Requests = HttpSettings['requests'];
type ReadRequest = NonNullable<Requests['find' | 'list' | 'findAccount']>;

export function createMemberSearch(settings: HttpSettings, api: HttpApi): MemberSearch {
  const { findById, find = undefined, list = undefined } = settings.requests;
  const { findAccount = undefined } = settings.requests;

  const read = createReader(settings, api);

  async function findByIdOf(groupId: string, memberId: string, signal: AbortSignal) {
    if (findById === undefined) return null;
    const values = new Map([
      ['group', groupId],
      ['memberId', memberId],
    ]);
    const call = { purpose: 'find the member', values, signal, expected: findById.absent };
    const answer = await api.send(findById, call);
    const member = toMember(pick(answer.body, findById.item), settings.member);
    return member?.id === memberId ? member : null;
  }

  /** Without `findById`, only the list shows a member whose address has changed. */
  const isListAsked = findById === undefined && find !== undefined && list !== undefined;

  async function findIn(request: ReadRequest, groupId: string, person: Person, signal: AbortSignal) {
    const values = valuesOfPerson(groupId, person);
    return await pickPerson(read(request, 'find the member', values, signal), person);
  }

  return {
    async find(groupId, person, signal) {
      const { memberId } = person;
      const known = memberId === null ? null : await findByIdOf(groupId, memberId, signal);
      const request = find ?? list;
      if (known !== null || request === undefined) return known;
      const found = await findIn(request, groupId, person, signal);
      if (found !== null || memberId === null || !isListAsked) return found;
      return await findIn(list, groupId, person, signal);
    },

    findAccount:
      findAccount &&
      (async (person, signal) => {
        const values = valuesOfPerson(null, person);
        const accounts = read(findAccount, 'find the account', values, signal);
        // An id alone says nothing: tools give them out again.
        return await pickPerson(accounts, { ...person, memberId: null });
      }),

    list: list && ((groupId, signal) => read(list, 'list the members', new Map([['group', groupId]]), signal)),
  };
}

type Read = (
  request: ReadRequest,
  purpose: string,
  values: TemplateValues,
  signal: AbortSignal,
) => AsyncGenerator<Member>;

/** Yields each member once: a list that changes meanwhile may show one on two pages. */
function createReader(settings: HttpSettings, api: HttpApi): Read {
  return async function* read(request, purpose, values, signal) {
    const reading: Reading = request;
    const seen = new Set<string>();
    const call = { purpose, values, signal, expected: reading.absent };
    const itemsOf = ({ body }: { body: unknown }) =>
      toItems(pick(body, reading.items), request !== settings.requests.list, purpose);
    for await (const item of api.readPages(request, call, itemsOf)) {
      const member = toMember(item, settings.member);
      if (member === undefined) throw noId(purpose, settings);
      if (member === null || seen.has(member.id)) continue;
      seen.add(member.id);
      yield member;
    }
  };
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
export function valuesOfPerson(groupId: string | null, person: Person): TemplateValues {
  const { trainerId, email, displayName } = person;
  return new Map([
    ...(groupId === null ? [] : ([['group', groupId]] as const)),
    ['trainerId', trainerId],
    // So that tools that compare addresses letter by letter find the member again.
    ['email', email.toLowerCase()],
    // Most tools refuse an empty name.
    ['displayName', displayName?.trim() || trainerId],
  ]);
}

/** A search may also answer one object, or null for no result. */
function toItems(items: unknown, isFinding: boolean, purpose: string): unknown[] {
  if (Array.isArray(items)) return items;
  if (isFinding && items === null) return [];
  if (isFinding && typeof items === 'object') return [items];
  throw new AppError('invalid', `Could not ${purpose}: there is no list where "items" says`);
}

function noId(purpose: string, { member }: HttpSettings): AppError {
  return new AppError('invalid', `Could not ${purpose}: an item has no id at "${member.id}"`);
}
