import { AppError } from '../../domain/errors.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Adapter, Capabilities, Member } from '../adapter.ts';
import { pick, toMember } from './answer.ts';
import { createHttpApi, type HttpApi } from './http-api.ts';
import type { HttpSettings } from './http-schema.ts';
import { createMemberSearch, valuesOfPerson } from './member-search.ts';
import { expandText, placeholdersOf, type TemplateValues } from './template.ts';

/**
 * Any tool with a JSON API, by requests that the settings declare (design section 7). An answer of
 * success is not enough: after an addition, the tool must show the member.
 */
export function createHttpAdapter(settings: HttpSettings): Adapter {
  const api = createHttpApi(settings);
  const { requests } = settings;
  const search = createMemberSearch(settings, api);

  async function remove(groupId: string, member: Member, signal: AbortSignal): Promise<void> {
    await api.send(requests.remove, {
      purpose: 'remove the member',
      values: valuesOfMember(groupId, member),
      signal,
      expected: requests.remove.absent,
      isAnswerIgnored: true,
    });
  }

  return {
    capabilities: toCapabilities(settings),

    async check(signal) {
      const purpose = 'check the tool';
      await api.send(requests.check, { purpose, values: new Map(), signal, isAnswerIgnored: true });
      return [];
    },

    groupFor: ({ externalProjectId }) =>
      expandText(settings.group, new Map([['externalProjectId', externalProjectId]])),

    findMember: search.find,

    ...(search.findAccount !== undefined && { findAccount: search.findAccount }),

    async addMember(groupId, person, signal) {
      const { add } = requests;
      // Without such a status, the tool may add a member a second time.
      const present = add.present === undefined && (await search.find(groupId, person, signal));
      if (present) return present;
      const answer = await api.send(add, {
        purpose: 'add the member',
        values: valuesOfPerson(groupId, person),
        signal,
        expected: add.present,
        isAnswerIgnored: add.item === undefined,
      });
      const item = add.item === undefined ? undefined : pick(answer.body, add.item);
      const added = toMember(item, settings.member);
      if (added && isSameAddress(added.email, person.email)) return added;
      const found = await search.find(groupId, person, signal);
      if (found !== null) return found;
      throw new AppError('unavailable', 'The tool says it added the member but does not show them');
    },

    removeMember: remove,

    ...createRemoveAccount(settings, api, remove),
    ...createUpdate(settings, api),
    ...(search.list !== undefined && { listMembers: search.list }),
  };
}

function createRemoveAccount(
  { requests: { removeAccount } }: HttpSettings,
  api: HttpApi,
  remove: Adapter['removeMember'],
): Pick<Adapter, 'removeAccount'> {
  if (removeAccount === undefined) return {};
  return {
    async removeAccount(groupId, member, signal) {
      await remove(groupId, member, signal);
      await api.send(removeAccount, {
        purpose: 'end the login',
        values: valuesOfMember(groupId, member),
        signal,
        expected: removeAccount.absent,
        isAnswerIgnored: true,
      });
    },
  };
}

function createUpdate({ requests: { update } }: HttpSettings, api: HttpApi): Pick<Adapter, 'updateEmail'> {
  if (update === undefined) return {};
  return {
    async updateEmail(groupId, { id }, email, signal) {
      const values = valuesOfMember(groupId, { id, email });
      const purpose = 'change the address';
      await api.send(update, { purpose, values, signal, isAnswerIgnored: true });
    },
  };
}

function valuesOfMember(groupId: string, { id, email }: Member): TemplateValues {
  const values = [
    ['group', groupId],
    ['memberId', id],
  ] as const;
  return new Map(email === null ? values : [...values, ['email', email.toLowerCase()]]);
}

function toCapabilities(settings: HttpSettings): Capabilities {
  const { offboarding, offboardingReason = '', readding } = settings;
  const removal: Capabilities['removal'] =
    offboarding === 'locks_out' ? { effect: offboarding } : { effect: offboarding, reason: offboardingReason };
  const reason = offboardingReason || 'their account is there and stays, and may let them in';
  return {
    removal,
    readding,
    exclusive: toExclusive(settings),
    ...(goesById(settings.requests.remove) && { removesUnseen: findsById(settings.requests) || 'if_never_seen' }),
    ...(settings.requests.removeAccount !== undefined && {
      keepingAccount: { removal: { effect: 'membership_only', reason }, readding },
    }),
  };
}

function goesById({ path, query, body }: HttpSettings['requests']['remove']): boolean {
  return placeholdersOf({ path, query, body: body ?? null }).includes('memberId');
}

function findsById({ findById, list }: HttpSettings['requests']): boolean {
  return findById !== undefined || list !== undefined;
}

/** While one member is removed, another may move to a page that was read already, and be missed. */
function toExclusive({ exclusive, requests: { find, list } }: HttpSettings) {
  const isPaged = find === undefined && list?.pages.by !== 'none';
  return isPaged && exclusive === 'membership' ? 'group' : exclusive;
}
