import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { onSame } from '../../db/on-same.ts';
import { provisioningOf } from '../../domain/evidence-status.ts';
import { mayBeOpen } from '../../evidence/open-contract-store.ts';
import type { DerivationStore } from '../../memberships/derivation-store.ts';
import type { RouteLink } from '../../memberships/link-router.ts';

interface UnplacedDeps {
  database: Database;
  memberships: Pick<DerivationStore, 'postponeDerivation'>;
  rules: { routeLink: RouteLink };
}

/**
 * Has those trainers of an install derived who are on a contract that may be active, by a link that leads to a group,
 * and have no membership by it. What is known already concerns no trainer anew: without this a configuration that leads
 * to more than before would give access only to those who are hired from then on.
 */
export async function postponeUnplaced(
  { database, memberships, rules }: UnplacedDeps,
  installs: readonly string[],
): Promise<void> {
  for (const install of installs) {
    const unrecorded = await findUnrecorded(database.kysely, install);
    const leads = ({ provisioningMode, ...link }: (typeof unrecorded)[number]) =>
      provisioningOf(provisioningMode) === 'ours' && rules.routeLink({ install, ...link }) !== undefined;
    const trainerIds = new Set(unrecorded.filter(leads).map(({ trainerId }) => trainerId));
    if (trainerIds.size === 0) continue;
    const waiting = [...trainerIds].map((trainerId) => ({ install, trainerId }));
    await inTransaction(database, (tx) => memberships.postponeDerivation(tx, waiting));
  }
}

/** Trainers with the links of their contracts that are no recorded reason of a membership. */
async function findUnrecorded(db: Transaction, install: string) {
  return await db
    .selectFrom('contract')
    .innerJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .select(['trainerId', 'externalProjectId', 'externalProjectName', 'provisioningMode'])
    .distinct()
    .where('contract.install', '=', install)
    .where(mayBeOpen())
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('membership')
            .innerJoin('reason', 'reason.membershipId', 'membership.id')
            .select('membership.id')
            .whereRef('membership.trainerId', '=', 'participation.trainerId')
            .whereRef('reason.install', '=', 'contract.install')
            .whereRef('reason.contractId', '=', 'contract.contractId')
            .whereRef('reason.linkId', '=', 'contractLink.linkId'),
        ),
      ),
    )
    .execute();
}
