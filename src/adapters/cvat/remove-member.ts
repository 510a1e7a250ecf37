import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import type { Member } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import type { CvatApi } from './cvat-api.ts';
import { toOrganization } from './cvat-schema.ts';
import type { CvatMembers } from './find-members.ts';

/**
 * Removes a member from an organization, which locks them out at once. Accounts in the server's group
 * `worker` are an exception: they open what is assigned to them without a membership
 * (`end-assignments.ts`).
 */
export function createCvatRemoval(api: CvatApi, members: CvatMembers) {
  return async (groupId: string, member: Member, signal: AbortSignal): Promise<void> => {
    toOrganization(groupId);
    const found = await members.findById(groupId, member, signal);
    if (found === null) return;
    const secrets = [found.user.username, ...(member.email === null ? [] : [member.email])];
    // CVAT deletes the invitation too, accepted or not.
    const path = `/api/memberships/${found.id}`;
    await unless([404], api.send({ method: 'DELETE', path, purpose: 'remove the member', secrets, signal })).catch(
      (error: unknown) => {
        throw toRefusal(error, found.role);
      },
    );
  };
}

/** A refusal for an owner or maintainer says nothing about other members, so it is no `forbidden`. */
function toRefusal(error: unknown, role: string): unknown {
  const isAboutThem = role === 'owner' || role === 'maintainer';
  if (statusOf(error) !== 403 || !isAboutThem) return error;
  return new AppError(
    'conflict',
    `Could not remove the member: they are ${role} of the organization, and the token may not remove those. Make them a worker in CVAT first`,
    { status: 403 },
  );
}
