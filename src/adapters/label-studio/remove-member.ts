import { AppError } from '../../domain/errors.ts';
import type { Adapter, Member } from '../adapter.ts';
import { idOfMember, isMember, isUserId, type SharedUsers, toMember } from './find-user.ts';
import type { LabelStudioApi } from './label-studio-api.ts';
import type { LabelStudioSettings } from './label-studio-schema.ts';

/**
 * A removal ends the membership of the organization or, with `delete_user`, deletes the user. The owner
 * and the token's own user are never removed.
 */
export function createLabelStudioRemoval(
  { organization, offboarding }: LabelStudioSettings,
  { api, users }: { api: LabelStudioApi; users: SharedUsers },
  refuseOthers: (groupId: string) => void,
): Pick<Adapter, 'removeMember' | 'removeAccount' | 'findAccountById'> {
  /** Null for a member who does not exist any more. */
  async function idToRemove(groupId: string, member: Member, signal: AbortSignal) {
    refuseOthers(groupId);
    const id = await idOfMember(users, member, signal);
    if (id !== null) await refuseOwner(api, organization, id, signal);
    return id;
  }

  return {
    async removeMember(groupId, member, signal) {
      const id = await idToRemove(groupId, member, signal);
      if (id !== null) await api.deleteMembership(organization, id, signal);
    },

    ...(offboarding === 'delete_user' && {
      /** A user whose membership was ended by hand is masked, but still gets in. */
      async findAccountById(id: string, signal: AbortSignal) {
        const user = isUserId(id) ? await api.user(id, signal) : null;
        if (user === null) return null;
        return isMember(user) ? toMember(user) : { ...toMember(user), email: null };
      },

      async removeAccount(groupId: string, member: Member, signal: AbortSignal) {
        const id = await idToRemove(groupId, member, signal);
        if (id !== null) await api.deleteUser(id, signal);
      },
    }),
  };
}

/** Only the newest versions of Label Studio refuse most of this by themselves. */
async function refuseOwner(api: LabelStudioApi, organization: string, id: string, signal: AbortSignal): Promise<void> {
  const [me, shown] = [await api.me(signal), await api.organization(organization, signal)];
  if (shown === null) {
    const why = `Label Studio does not show organization ${organization}, so its owner is unknown`;
    throw new AppError('not_found', `Could not remove the member: ${why}; see that the token may read it`);
  }
  if (id !== String(me.id) && id !== String(shown.created_by)) return;
  throw new AppError('invalid', 'The owner of the organization, and of the token, is not removed');
}
