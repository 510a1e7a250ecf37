import type { TrainerFacts } from './collect-candidates.ts';
import type { MembershipChange } from './plan-memberships.ts';

/** Installs that know different addresses for one trainer in one tool. Each of them has an access of its own. */
export interface Disagreement {
  tool: string;
  trainerId: string;
  /** Sorted by name. */
  installs: string[];
}

interface Access {
  tool: string;
  trainerId: string;
  install: string;
  address: string;
  isNew: boolean;
}

/** The disagreements that these changes cause. Pure. */
export function findDisagreements(
  { memberships, current }: Pick<TrainerFacts, 'memberships' | 'current'>,
  changes: readonly MembershipChange[],
): Disagreement[] {
  const changed = new Set(changes.map(({ before }) => before?.id));
  const kept = memberships.filter(({ id, wanted }) => wanted && !changed.has(id));
  const accesses: Access[] = [
    ...kept.flatMap(({ id, tool, trainerId, install }) =>
      toAccess({ tool, trainerId, install, isNew: false }, current.get(id)),
    ),
    ...changes.flatMap(({ seat, before, after, address }) => {
      const { tool, trainerId } = seat;
      const named = address?.address ?? (before && current.get(before.id));
      const access = { tool, trainerId, install: after.install, isNew: address !== null };
      return after.wanted ? toAccess(access, named) : [];
    }),
  ];
  const byTrainer = Map.groupBy(accesses, ({ tool, trainerId }) => JSON.stringify([tool, trainerId]));
  return [...byTrainer.values()].flatMap(toDisagreement);
}

function toAccess(access: Omit<Access, 'address'>, address: string | undefined): Access[] {
  return address === undefined ? [] : [{ ...access, address }];
}

function toDisagreement(accesses: readonly Access[]): Disagreement[] {
  const [first] = accesses;
  const installs = [...new Set(accesses.map(({ install }) => install))].sort();
  const addresses = new Set(accesses.map(({ address }) => address));
  const isNews = accesses.some(({ isNew }) => isNew);
  if (first === undefined || !isNews || addresses.size < 2 || installs.length < 2) return [];
  return [{ tool: first.tool, trainerId: first.trainerId, installs }];
}
