import type { UsageObservation } from '../../adapters/adapter.ts';
import type { ScopeMember } from './scope-member-store.ts';

/** Whose the work is that a reading tells of, by the tool's id and the address that goes with it. */
export interface AssignedWork {
  /** By the tool's id; without those of whom nobody can tell which trainer it is. */
  members: ScopeMember[];
  /** Who is in by an id that shows an address which is none of theirs: the work is not theirs. */
  strays: ScopeMember[];
}

/**
 * Pure. Tools give ids out again, so work is somebody's only where its id shows an address that they
 * have or had. Where the tool shows none, the id alone decides.
 *
 * @param isAddressOf whether an address is one of these digests
 */
export function assignWork(
  all: readonly ScopeMember[],
  observations: ReadonlyMap<string, readonly UsageObservation[]>,
  isAddressOf: (email: string, digests: readonly string[]) => boolean,
): AssignedWork {
  const byId = Map.groupBy(all, ({ memberId }) => memberId);
  const strays: ScopeMember[] = [];
  const members = [...byId].flatMap(([memberId, known]) => {
    const email = observations.get(memberId)?.findLast((one) => one.email != null)?.email;
    const isTheirs = ({ digests }: ScopeMember) => email == null || isAddressOf(email, digests);
    const theirs = known.filter(isTheirs);
    strays.push(...known.filter((one) => one.isIn && !isTheirs(one)));
    return pickOne(theirs);
  });
  return { members, strays };
}

/** Nobody where more than one trainer has the account. */
function pickOne(members: readonly ScopeMember[]): ScopeMember[] {
  const inside = members.filter(({ isIn }) => isIn);
  const candidates = inside.length > 0 ? inside : members;
  const [first] = candidates;
  if (first === undefined || trainersOf(candidates) > 1) return [];
  return [{ ...first, isShared: trainersOf(members) > 1 }];
}

function trainersOf(members: readonly ScopeMember[]): number {
  return new Set(members.map(({ trainerId }) => trainerId)).size;
}
