import { isExplicit } from '../domain/standing.ts';
import { type Candidate, reasonKey } from './collect-candidates.ts';
import { type Ground, isOurs } from './judge-membership.ts';

/** What somebody who is to stay in a group has left of it. */
export interface LeftProjects {
  membershipId: number;
  projects: string[];
}

/**
 * Pure: the projects for which everything has ended, said outright, that was ever a reason for somebody
 * to be in a group, while something else keeps them there. What is weaker leaves them where they are.
 */
export function findLeftProjects(candidates: readonly Candidate[]): LeftProjects[] {
  const places = Map.groupBy(candidates, ({ place }) => JSON.stringify(place));
  return [...places.values()].flatMap((here) => {
    const reasons = here.flatMap(({ grounds, recorded }) =>
      grounds.filter((ground) => ground.standing.stands || recorded.has(reasonKey(ground))),
    );
    const byProject = Map.groupBy(reasons, ({ externalProjectId }) => externalProjectId);
    const projects = [...byProject].flatMap(([project, grounds]) =>
      project !== null && grounds.every(hasEnded) ? [project] : [],
    );
    return here.flatMap(({ before, grounds }) =>
      before !== undefined && grounds.some(isOurs) ? [{ membershipId: before.id, projects }] : [],
    );
  });
}

function hasEnded({ standing }: Ground): boolean {
  return !standing.stands && standing.falls[0] !== undefined && isExplicit(standing.falls[0].cause);
}
