import type { ExpressionBuilder } from 'kysely';
import type { Transaction } from '../../db/database.ts';
import type { Tables } from '../../db/schema.ts';

/**
 * The SQL of clearing accounts that a tool has listed under an address that installs know, or knew, for a trainer. To be
 * called while these addresses are still known. The next listing shows such an account again if it is still there.
 */

export async function countFindingTraces(tx: Transaction, trainerId: string, installs: readonly string[]) {
  if (installs.length === 0) return 0;
  const { n } = await tx
    .selectFrom('driftFinding')
    .where((eb) => eb('addressDigest', 'in', addressesOf(eb, trainerId, installs)))
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return Number(n);
}

export async function clearFindingTraces(tx: Transaction, trainerId: string, installs: readonly string[]) {
  if (installs.length === 0) return;
  await tx
    .deleteFrom('driftFinding')
    .where((eb) => eb('addressDigest', 'in', addressesOf(eb, trainerId, installs)))
    .execute();
}

function addressesOf(eb: ExpressionBuilder<Tables, 'driftFinding'>, trainerId: string, installs: readonly string[]) {
  return eb
    .selectFrom('person')
    .select('person.workEmailDigest as digest')
    .where('person.trainerId', '=', trainerId)
    .where('person.install', 'in', [...installs])
    .where('person.workEmailDigest', 'is not', null)
    .union(
      eb
        .selectFrom('membershipAddress')
        .select('membershipAddress.workEmailDigest as digest')
        .where('membershipAddress.trainerId', '=', trainerId)
        .where('membershipAddress.install', 'in', [...installs]),
    );
}
