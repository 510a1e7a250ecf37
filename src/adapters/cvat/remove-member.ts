import { AppError } from '../../domain/errors.ts';
import type { Member } from '../adapter.ts';
import type { CvatApi } from './cvat-api.ts';
import { toOrganization } from './cvat-schema.ts';
import type { CvatMembers } from './find-members.ts';

/**
 * Takes somebody out of an organization, which locks them out at once: all but accounts of the
 * server's group `worker`, which open what is assigned to them without any membership
 * (`end-assignments.ts`).
 */
export function createCvatRemoval(api: CvatApi, members: CvatMembers) {
  return async (groupId: string, member: Member, signal: AbortSignal): Promise<void> => {
    toOrganization(groupId);
    const found = await members.findById(groupId, member, signal);
    if (found === null) return;
    const secrets = [found.user.username, ...(member.email === null ? [] : [member.email])];
    // Its invitation goes with it, accepted or not.
    await api
      .tell({ method: 'DELETE', path: `/api/memberships/${found.id}`, purpose: 'remove the member', secrets, signal })
      .catch((error: unknown) => unlessGone(toRefusal(error, found.role)));
  };
}

/** That the token may not remove this one says nothing about what else it may do. */
function toRefusal(error: unknown, role: string): unknown {
  const isAboutThem = role === 'owner' || role === 'maintainer';
  if (!(error instanceof AppError && error.status === 403 && isAboutThem)) return error;
  return new AppError(
    'conflict',
    `Could not remove the member: they are ${role} of the organization, and the token may not remove those. Make them a worker in CVAT first`,
    { status: 403 },
  );
}

/** Somebody else was quicker. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof AppError && error.status === 404)) throw error;
}
