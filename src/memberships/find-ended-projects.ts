import { isExplicit } from '../domain/standing.ts';
import { type MembershipCandidate, reasonKey } from './collect-candidates.ts';
import { isOurReason, type Reason } from './judge-membership.ts';

/** Projects that have ended for a member who stays in the group. */
export interface EndedProjects {
  membershipId: number;
  projects: string[];
}

/**
 * Finds the projects in which every reason has ended explicitly, while another reason keeps the member in the group.
 * Weaker ends do not count. Pure.
 */
export function findEndedProjects(candidates: readonly MembershipCandidate[]): EndedProjects[] {
  const seats = Map.groupBy(candidates, ({ seat }) => JSON.stringify(seat));
  return [...seats.values()].flatMap((here) => {
    const reasons = here.flatMap(({ reasons: all, recorded }) =>
      all.filter((reason) => reason.standing.stands || recorded.has(reasonKey(reason))),
    );
    const byProject = Map.groupBy(reasons, ({ externalProjectId }) => externalProjectId);
    const projects = [...byProject].flatMap(([project, all]) =>
      project !== null && all.every(hasEnded) ? [project] : [],
    );
    return here.flatMap(({ before, reasons }) =>
      before !== undefined && reasons.some(isOurReason) ? [{ membershipId: before.id, projects }] : [],
    );
  });
}

function hasEnded({ standing }: Reason): boolean {
  return !standing.stands && standing.ends[0] !== undefined && isExplicit(standing.ends[0].cause);
}
