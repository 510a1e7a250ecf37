import { AppError } from '../../domain/errors.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Adapter, Added, Capabilities, Member, Person } from '../adapter.ts';
import { pick, toMember } from './answer.ts';
import { send } from './http-api.ts';
import type { HttpSettings } from './http-schema.ts';
import { findAccount, findMember, readMembers, valuesOfPerson } from './member-search.ts';
import { expandText, placeholdersOf, type TemplateValues, toValues } from './template.ts';

/**
 * Any tool with a JSON API, by requests that the settings declare (design section 7). An answer of
 * success is not enough: after an addition, the tool must show the member.
 */
export function createHttpAdapter(settings: HttpSettings): Adapter {
  const { requests } = settings;
  const { findAccount: account, list, removeAccount, update } = requests;

  async function removeMember(groupId: string, member: Member, signal: AbortSignal): Promise<void> {
    const values = valuesOfMember(groupId, member);
    const call = { purpose: 'remove the member', values, signal, isAnswerIgnored: true };
    await send(settings, requests.remove, { ...call, expected: requests.remove.absent });
  }

  return {
    capabilities: toCapabilities(settings),

    async check(signal) {
      const call = { purpose: 'check the tool', values: toValues({}), signal, isAnswerIgnored: true };
      await send(settings, requests.check, call);
      return [];
    },

    groupFor: ({ externalProjectId }) => expandText(settings.group, toValues({ externalProjectId })),
    findMember: (groupId, person, signal) => findMember(settings, groupId, person, signal),
    addMember: (groupId, person, signal) => addMember(settings, groupId, person, signal),
    removeMember,

    ...(account !== undefined && {
      findAccount: (person: Person, signal: AbortSignal) => findAccount(settings, account, person, signal),
    }),

    ...(removeAccount !== undefined && {
      async removeAccount(groupId: string, member: Member, signal: AbortSignal) {
        await removeMember(groupId, member, signal);
        const values = valuesOfMember(groupId, member);
        const call = { purpose: 'end the login', values, signal, isAnswerIgnored: true };
        await send(settings, removeAccount, { ...call, expected: removeAccount.absent });
      },
    }),

    ...(update !== undefined && {
      async updateEmail(groupId: string, { id }: Member, email: string, signal: AbortSignal) {
        const values = valuesOfMember(groupId, { id, email });
        await send(settings, update, { purpose: 'change the address', values, signal, isAnswerIgnored: true });
      },
    }),

    ...(list !== undefined && {
      listMembers: (groupId: string, signal: AbortSignal) =>
        readMembers(settings, list, { purpose: 'list the members', values: toValues({ group: groupId }), signal }),
    }),
  };
}

async function addMember(settings: HttpSettings, groupId: string, person: Person, signal: AbortSignal): Promise<Added> {
  const { add } = settings.requests;
  // Without such a status, the tool may add a member a second time.
  const present = add.present === undefined && (await findMember(settings, groupId, person, signal));
  if (present) return present;
  const answer = await send(settings, add, {
    purpose: 'add the member',
    values: valuesOfPerson(groupId, person),
    signal,
    expected: add.present,
    isAnswerIgnored: add.item === undefined,
  });
  const item = add.item === undefined ? undefined : pick(answer.body, add.item);
  const added = toMember(item, settings.member);
  if (added && isSameAddress(added.email, person.email)) return added;
  const found = await findMember(settings, groupId, person, signal);
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
  const reason = offboardingReason || 'their account is there and stays, and may let them in';
  const removesById = placeholdersOf({ path, query, body }).includes('memberId');
  const findsById = findById !== undefined || list !== undefined;
  // While one member is removed, another may move to a page that was read already, and be missed.
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
