import { AppError } from '../../domain/errors.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Adapter, Added, Capabilities, Member, Person } from '../adapter.ts';
import { toId } from '../values.ts';
import { type HttpCall, type HttpTool, pick, readPages, send } from './http-api.ts';
import {
  expandText,
  type HttpSettings,
  type ListRequest,
  type MemberSettings,
  placeholdersOf,
  type TemplateValues,
  toValues,
} from './http-schema.ts';

/**
 * Any tool with a JSON API, by requests that the settings declare. A success answer is not enough: after an addition,
 * the tool must show the member.
 */
export function createHttpAdapter(settings: HttpSettings): Adapter {
  const { check, findAccount: account, list, remove, removeAccount, update } = settings.requests;

  return {
    capabilities: toCapabilities(settings),

    async check(signal) {
      await send({ settings, signal }, check, {
        purpose: 'check the tool',
        values: toValues({}),
        isAnswerIgnored: true,
      });
      return [];
    },

    groupFor: ({ externalProjectId }) => expandText(settings.group, toValues({ externalProjectId })),
    findMember: (groupId, person, signal) => findMember({ settings, signal }, groupId, person),
    addMember: (groupId, person, signal) => addMember({ settings, signal }, groupId, person),
    removeMember: (groupId, member, signal) =>
      sendRemoval({ settings, signal }, remove, 'remove the member', groupId, member),

    ...(account !== undefined && {
      findAccount: (person: Person, signal: AbortSignal) => findAccount({ settings, signal }, account, person),
    }),

    ...(removeAccount !== undefined && {
      async removeAccount(groupId: string, member: Member, signal: AbortSignal) {
        await sendRemoval({ settings, signal }, remove, 'remove the member', groupId, member);
        await sendRemoval({ settings, signal }, removeAccount, 'end the login', groupId, member);
      },
    }),

    ...(update !== undefined && {
      async updateEmail(groupId: string, { id }: Member, email: string, signal: AbortSignal) {
        const values = valuesOfMember(groupId, { id, email });
        await send({ settings, signal }, update, { purpose: 'change the address', values, isAnswerIgnored: true });
      },
    }),

    ...(list !== undefined && {
      listMembers: (groupId: string, signal: AbortSignal) =>
        readMembers({ settings, signal }, list, { purpose: 'list the members', values: toValues({ group: groupId }) }),
    }),
  };
}

async function sendRemoval(
  tool: HttpTool,
  request: HttpSettings['requests']['remove'],
  purpose: string,
  groupId: string,
  member: Member,
): Promise<void> {
  const values = valuesOfMember(groupId, member);
  await send(tool, request, { purpose, values, expected: request.absent, isAnswerIgnored: true });
}

async function addMember(tool: HttpTool, groupId: string, person: Person): Promise<Added> {
  const { add } = tool.settings.requests;
  // If the tool has no status for a member who is in already, it may add them a second time.
  const present = add.present === undefined && (await findMember(tool, groupId, person));
  if (present) return present;
  const answer = await send(tool, add, {
    purpose: 'add the member',
    values: valuesOfPerson(groupId, person),
    expected: add.present,
    isAnswerIgnored: add.item === undefined,
  });
  const item = add.item === undefined ? undefined : pick(answer.body, add.item);
  const added = toMember(item, tool.settings.member);
  if (added && isSameAddress(added.email, person.email)) return added;
  const found = await findMember(tool, groupId, person);
  if (found !== null) return found;
  throw new AppError('unavailable', 'The tool says it added the member but does not show them');
}

function valuesOfMember(groupId: string, { id, email }: Member): TemplateValues {
  return toValues({ group: groupId, memberId: id, email: email?.toLowerCase() });
}

function toCapabilities({
  offboarding,
  offboardingReason = '',
  readding,
  exclusive,
  requests,
}: HttpSettings): Capabilities {
  const { find, findById, list, remove, removeAccount } = requests;
  const { path, query, body = null } = remove;
  const removal: Capabilities['removal'] =
    offboarding === 'locks_out' ? { effect: offboarding } : { effect: offboarding, reason: offboardingReason };
  const reason = offboardingReason || 'their account stays, and may let them in';
  const removesById = placeholdersOf({ path, query, body }).includes('memberId');
  const findsById = findById !== undefined || list !== undefined;
  // A removal may move another member to a page that was read already, so that the look misses them.
  const isPaged = find === undefined && list?.pages.by !== 'none';
  return {
    removal,
    readding,
    exclusive: isPaged && exclusive === 'membership' ? 'group' : exclusive,
    ...(removesById && { removesUnseen: findsById || 'if_never_seen' }),
    ...(removeAccount !== undefined && {
      keepingAccount: { removal: { effect: 'membership_only', reason }, readding },
    }),
  };
}

async function findMember(tool: HttpTool, groupId: string, person: Person): Promise<Member | null> {
  const { findById, find, list } = tool.settings.requests;
  const { memberId } = person;
  const known = memberId === null ? null : await findMemberById(tool, groupId, memberId);
  const request = find ?? list;
  if (known !== null || request === undefined) return known;
  const call = { purpose: 'find the member', values: valuesOfPerson(groupId, person) };
  const found = await pickPerson(readMembers(tool, request, call), person);
  // Without `findById`, only the list shows a member whose address has changed.
  const isListAsked = memberId !== null && findById === undefined && find !== undefined;
  if (found !== null || !isListAsked || list === undefined) return found;
  return await pickPerson(readMembers(tool, list, call), person);
}

async function findMemberById(tool: HttpTool, groupId: string, memberId: string): Promise<Member | null> {
  const { findById } = tool.settings.requests;
  if (findById === undefined) return null;
  const values = toValues({ group: groupId, memberId });
  const call = { purpose: 'find the member', values, expected: findById.absent };
  const answer = await send(tool, findById, call);
  const member = toMember(pick(answer.body, findById.item), tool.settings.member);
  return member?.id === memberId ? member : null;
}

async function findAccount(tool: HttpTool, request: ListRequest, person: Person): Promise<Member | null> {
  const call = { purpose: 'find the account', values: valuesOfPerson(null, person) };
  // Not by id, because tools give ids out again.
  return await pickPerson(readMembers(tool, request, call), { ...person, memberId: null });
}

/** Yields each member once, although a list that changes while it is read may show one on two pages. */
async function* readMembers(tool: HttpTool, request: ListRequest, call: HttpCall): AsyncGenerator<Member> {
  const seen = new Set<string>();
  const isFinding = request !== tool.settings.requests.list;
  const itemsOf = (body: unknown) => toItems(pick(body, request.items), isFinding, call.purpose);
  for await (const item of readPages(tool, request, call, itemsOf)) {
    const member = toMember(item, tool.settings.member);
    if (member === undefined) {
      throw new AppError('invalid', `Could not ${call.purpose}: an item has no id at "${tool.settings.member.id}"`);
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

/** @param groupId null for a request without a group */
function valuesOfPerson(groupId: string | null, { trainerId, email, displayName }: Person): TemplateValues {
  return toValues({
    group: groupId,
    trainerId,
    // So that tools with case-sensitive addresses find the member again.
    email: email.toLowerCase(),
    // Most tools refuse an empty name.
    displayName: displayName?.trim() || trainerId,
  });
}

/** A search may also answer one object, or null. */
function toItems(items: unknown, isFinding: boolean, purpose: string): unknown[] {
  if (Array.isArray(items)) return items;
  if (isFinding && items === null) return [];
  if (isFinding && typeof items === 'object') return [items];
  throw new AppError('invalid', `Could not ${purpose}: there is no list at "items"`);
}

/** Null for an item that is marked as gone, undefined for an item without an id. */
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
