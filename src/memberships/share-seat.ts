/**
 * Whose word an access rests on (design section 2, *Identity*): a trainer has one membership in a
 * group for each address that somebody was given access under. Pure.
 */

/** An install that has, or had, a reason for the trainer to be in the group. */
export interface ClaimingInstall {
  install: string;
  /** What it knows of them, in lower case; null where it knows none. */
  address: string | null;
}

/** A membership that is there. */
export interface SeatMembership {
  id: number;
  /** The address that it is for, in lower case. */
  address: string | null;
  /** Whether somebody is to be in by it now. */
  isWanted: boolean;
  /** The installs that have been a reason for it, and whether they ever named its address. */
  installs: ReadonlyMap<string, { isNamed: boolean }>;
}

/**
 * Which membership each install's reasons belong to. An install stays with the access that its word
 * has given, whatever address it names later: that never moves somebody else's. One that comes anew
 * joins those who name the same address, and otherwise has a membership of its own. Who names none
 * keeps in whoever is in, and leaves for a membership of its own with the first address it names.
 *
 * @param memberships in the order of their ids
 * @returns by install: the id, or a name for a new membership, which is the same for all who share it
 */
export function shareSeat(
  claimants: readonly ClaimingInstall[],
  memberships: readonly SeatMembership[],
): Map<string, number | string> {
  return new Map(
    claimants.map(({ install, address }) => [
      install,
      findMembership(install, address, memberships)?.id ?? (address === null ? `of ${install}` : `for ${address}`),
    ]),
  );
}

function findMembership(
  install: string,
  address: string | null,
  memberships: readonly SeatMembership[],
): SeatMembership | undefined {
  const own = memberships.filter(({ installs }) => installs.has(install));
  if (address === null) return own[0] ?? memberships.find(({ isWanted }) => isWanted);
  const hasAddress = (membership: SeatMembership) => membership.address === address;
  return (
    own.find(hasAddress) ??
    own.find(({ installs }) => installs.get(install)?.isNamed) ??
    memberships.find(hasAddress) ??
    own.find((membership) => membership.address === null)
  );
}

/**
 * The address that a membership is to be for. It changes when all whose reasons stand say so: one
 * install alone never takes another's people elsewhere.
 *
 * @param standing the installs whose reasons for it stand, in the order of their names
 * @returns null where nobody knows any
 */
export function chooseAddress(current: string | null, standing: readonly ClaimingInstall[]): string | null {
  const named = new Set(standing.flatMap(({ address }) => address ?? []));
  const [first = current] = named;
  const isSettled = current !== null && (named.has(current) || named.size > 1);
  return isSettled ? current : first;
}
