import type { UsageObservation } from '../../adapters/adapter.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { ScopeMember } from './scope-member-store.ts';

/** Whose work a reading reports, by the tool's id and the address beside it. */
export interface AssignedWork {
  /** By the tool's id, where exactly one trainer can have the account. */
  members: ScopeMember[];
  /** Members who are in by an id that shows the address of another: the work is not theirs. */
  strays: ScopeMember[];
}

/**
 * Assigns work to trainers. Pure. Tools give ids out again, so work is a trainer's only where the id shows an address
 * that the trainer has or had. Where the tool shows no address, the id alone decides.
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

/** Empty where more than one trainer has the account. */
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

/** @returns whether an address is one of these digests */
export function createIsAddressOf({ digest }: SecretBox) {
  return (email: string, known: readonly string[]) => known.includes(digest(email.toLowerCase()));
}
