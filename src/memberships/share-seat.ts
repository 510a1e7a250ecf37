/**
 * Which install's address an access rests on (docs/design.md, Identity). A trainer has one membership in a group
 * for each address that access was given under. Pure.
 */

/** An install that has, or had, a reason for the trainer to be in the group. */
export interface ClaimingInstall {
  install: string;
  /** The address that it knows for the trainer, in lower case; null if it knows none. */
  address: string | null;
}

/** An existing membership of the seat. */
export interface SeatMembership {
  id: number;
  /** Its current address, in lower case. */
  address: string | null;
  /** Whether the trainer is wanted by it now. */
  isWanted: boolean;
  /** The installs that have been a reason for it, and whether each ever named its address. */
  installs: ReadonlyMap<string, { isNamed: boolean }>;
}

/**
 * Assigns each install's reasons to a membership. An install stays with the access that its address has given, whatever
 * address it names later, so it never moves the access of another install. A new install joins the membership with the
 * same address, or gets a membership of its own. An install that knows no address keeps the existing access, and moves
 * to a membership of its own with the first address that it names.
 *
 * @param memberships in the order of their ids
 * @returns by install: the id of the membership, or a name for a new one, which is the same for all installs that share
 * it
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
 * The address of a membership. It changes only if all installs whose reasons stand agree, so one install alone never
 * moves the access of another.
 *
 * @param standing the installs whose reasons for it stand, in the order of their names
 * @returns null if no install knows an address
 */
export function chooseAddress(current: string | null, standing: readonly ClaimingInstall[]): string | null {
  const named = new Set(standing.flatMap(({ address }) => address ?? []));
  const [first = current] = named;
  const isSettled = current !== null && (named.has(current) || named.size > 1);
  return isSettled ? current : first;
}
