/** Pages of the console that cells and facts lead to. */

export function trainerPath(trainerId: string): string {
  return `/trainers/${encodeURIComponent(trainerId)}`;
}

export function contractPath(contractId: string): string {
  return `/contracts/${encodeURIComponent(contractId)}`;
}

export function membershipPath(membershipId: number): string {
  return `/memberships/${membershipId}`;
}

export function installPath(install: string): string {
  return `/installs/${encodeURIComponent(install)}`;
}
