// Which install's address an access is given under (docs/rules.md, Identity). A trainer has one membership in a group
// for each such address. Pure.

/** An install and the address that it knows for the trainer, in lower case; null if it knows none. */
export interface KnownAddress {
  install: string;
  address: string | null;
}

/** An install that has, or had, a reason for the trainer to be in the group. */
export interface ClaimingInstall extends KnownAddress {
  /** Whether one of its reasons stands and we provision its link. */
  stands: boolean;
}

/** An existing membership of the seat. */
export interface SeatMembership {
  id: number;
  /** Its current address, in lower case. */
  address: string | null;
  /** Whether the trainer is wanted, or may still be in the tool, by this membership. */
  isOpen: boolean;
  /** The installs that have had a reason for it, and whether each has ever named its address. */
  installs: ReadonlyMap<string, { isNamed: boolean }>;
}

/** The id of an existing membership, or a name for a new one. */
export type MembershipKey = number | string;

/**
 * Assigns each install's reasons to memberships, whatever their order. An install that knows an address stays with the
 * access that its address has given, even if it names another address later, so it never moves the access of another
 * install. Otherwise it joins the membership with the same address, or gets a membership of its own. An install that
 * knows no address keeps its own access, or else every access that others have given. It opens none: without an access,
 * its reasons wait for an address.
 *
 * @param memberships in the order of their ids
 * @returns by install; a new membership has the same name for all installs that share it
 */
export function shareSeat(
  claimants: readonly ClaimingInstall[],
  memberships: readonly SeatMembership[],
): Map<string, MembershipKey[]> {
  const named = assignNamed(claimants, memberships);
  const given = new Set<MembershipKey>([
    ...memberships.filter(({ address, isOpen }) => address !== null && isOpen).map(({ id }) => id),
    ...claimants.flatMap(({ install, stands }) => (stands ? (named.get(install) ?? []) : [])),
  ]);
  const waiting = findWaiting(claimants, memberships)?.id ?? 'waiting';
  const keep = (install: string): MembershipKey[] => {
    const own = memberships.find(({ address, isOpen, installs }) => {
      return address !== null && isOpen && installs.get(install)?.isNamed;
    });
    if (own !== undefined) return [own.id];
    return given.size > 0 ? [...given] : [waiting];
  };
  return new Map(
    claimants.map(({ install }) => {
      const key = named.get(install);
      return [install, key === undefined ? keep(install) : [key]];
    }),
  );
}

/** The memberships of the installs that know an address. */
function assignNamed(
  claimants: readonly KnownAddress[],
  memberships: readonly SeatMembership[],
): Map<string, MembershipKey> {
  const named = claimants.flatMap(({ install, address }) => (address === null ? [] : [{ install, address }]));
  const accesses = new Map(named.map(({ install, address }) => [install, findAccess(install, address, memberships)]));
  const newcomers = named.filter(({ install }) => accesses.get(install) === undefined);
  // A membership that has waited for an address can be given only one.
  const [next] = newcomers.map(({ address }) => address).sort();
  const waiting = memberships.find(
    (membership) =>
      membership.address === null &&
      newcomers.some(({ install, address }) => address === next && membership.installs.has(install)),
  );
  return new Map(
    named.map(({ install, address }) => {
      const known = accesses.get(install) ?? (address === next ? waiting : undefined);
      return [install, known?.id ?? `for ${address}`];
    }),
  );
}

function findAccess(
  install: string,
  address: string,
  memberships: readonly SeatMembership[],
): SeatMembership | undefined {
  const own = memberships.filter(({ installs }) => installs.has(install));
  const hasAddress = (membership: SeatMembership) => membership.address === address;
  return (
    own.find(hasAddress) ?? own.find(({ installs }) => installs.get(install)?.isNamed) ?? memberships.find(hasAddress)
  );
}

/**
 * The membership without an address where reasons wait. One that another install once named is kept for that install.
 */
function findWaiting(
  claimants: readonly KnownAddress[],
  memberships: readonly SeatMembership[],
): SeatMembership | undefined {
  const unknown = new Set(claimants.filter(({ address }) => address === null).map(({ install }) => install));
  const vacant = memberships.filter(({ address }) => address === null);
  const isFree = ({ installs }: SeatMembership) =>
    [...installs].every(([install, { isNamed }]) => !isNamed || unknown.has(install));
  return vacant.find(({ isOpen }) => isOpen) ?? vacant.find(isFree);
}

/**
 * The address of a membership. It changes only if all installs with a standing reason agree, so that no install moves
 * the access of another.
 *
 * @param standing the installs with a standing reason, in the order of their names
 * @returns null if no install knows an address
 */
export function chooseAddress(current: string | null, standing: readonly KnownAddress[]): string | null {
  const named = new Set(standing.flatMap(({ address }) => address ?? []));
  const [first = current] = named;
  const isSettled = current !== null && (named.has(current) || named.size > 1);
  return isSettled ? current : first;
}
