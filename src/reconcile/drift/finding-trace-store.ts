import type { Transaction } from '../../db/database.ts';

/**
 * Clears the accounts that a tool has listed under an address that these installs know, or knew, for a trainer. To be
 * called while these addresses are still known. The next listing shows such an account again if it is still there.
 *
 * @returns how many it cleared
 */
export async function clearFindingTraces(
  tx: Transaction,
  trainerId: string,
  installs: readonly string[],
): Promise<number> {
  if (installs.length === 0) return 0;
  const known = tx
    .selectFrom('person')
    .select('person.workEmailDigest as digest')
    .where('person.trainerId', '=', trainerId)
    .where('person.install', 'in', installs)
    .where('person.workEmailDigest', 'is not', null)
    .union(
      tx
        .selectFrom('membershipAddress')
        .select('membershipAddress.workEmailDigest as digest')
        .where('membershipAddress.trainerId', '=', trainerId)
        .where('membershipAddress.install', 'in', installs),
    );
  const { numDeletedRows } = await tx.deleteFrom('driftFinding').where('addressDigest', 'in', known).executeTakeFirst();
  return Number(numDeletedRows);
}
