import { AppError } from '../../domain/errors.ts';
import type { Member } from '../adapter.ts';
import type { CvatApi } from './cvat-api.ts';
import { readAssigned, toOrganization } from './cvat-schema.ts';
import type { CvatMembers } from './find-members.ts';

/** What can be assigned to somebody, what its assignee is called in a change, and how that is put. */
const assignables = [
  { path: '/api/jobs', change: { assignee: null } },
  { path: '/api/tasks', change: { assignee_id: null } },
  { path: '/api/projects', change: { assignee_id: null } },
];

/** How many changes are under way at a time. */
const batchSize = 5;

/**
 * Takes somebody out of an organization. What was assigned to them comes first: CVAT leaves it with
 * them, and an account in its global group `worker` opens its jobs without any membership. A removal
 * that is cut short goes on where it stopped, as they are still a member.
 */
export function createRemoval(api: CvatApi, members: CvatMembers) {
  return async (groupId: string, member: Member, signal: AbortSignal): Promise<void> => {
    const found = await members.findById(groupId, member, signal);
    if (found === null) return;
    const org = toOrganization(groupId);
    const secrets = [found.user.username, ...(member.email === null ? [] : [member.email])];
    for (const { path, change } of assignables) {
      const query = { org, assignee: found.user.username };
      const purpose = 'list what is assigned to the member';
      // Read to its end first: what is assigned to nobody is gone from the list.
      const all = await Array.fromAsync(
        api.list(readAssigned, { path, query, purpose, secrets, signal }),
      );
      for (let start = 0; start < all.length; start += batchSize) {
        const batch = all.slice(start, start + batchSize);
        await Promise.all(
          batch.map(({ id }) =>
            api
              .tell({
                ...{ method: 'PATCH', path: `${path}/${id}`, body: change },
                ...{ purpose: "end the member's assignments", secrets, signal },
              })
              .catch(unlessGone),
          ),
        );
      }
    }
    // Its invitation goes with it, accepted or not.
    await api
      .tell({
        ...{ method: 'DELETE', path: `/api/memberships/${found.id}` },
        ...{ purpose: 'remove the member', secrets, signal },
      })
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
function unlessGone(error: unknown): void {
  if (!(error instanceof AppError && error.status === 404)) throw error;
}
