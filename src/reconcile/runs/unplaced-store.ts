import type { Context } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { onSame } from '../../db/query.ts';
import { provisioningOf } from '../../domain/evidence-status.ts';
import { mayBeOpen } from '../../evidence/contract-store.ts';
import { postponeDerivation } from '../../memberships/derivation-store.ts';

/**
 * Derives the trainers of an install who lack a membership: their contract may be active, and one of its links leads to
 * a group. Evidence that is known already triggers no derivation. Without this, a configuration that covers more links
 * than before would give access only to people who are hired from then on.
 */
export async function postponeUnplaced(ctx: Context, installs: readonly string[]): Promise<void> {
  for (const install of installs) {
    const unrecorded = await findUnrecorded(ctx.database.kysely, install);
    const leads = ({ provisioningMode, ...link }: (typeof unrecorded)[number]) =>
      provisioningOf(provisioningMode) === 'ours' && ctx.routeLink({ install, ...link }) !== undefined;
    const trainerIds = new Set(unrecorded.filter(leads).map(({ trainerId }) => trainerId));
    if (trainerIds.size === 0) continue;
    const waiting = [...trainerIds].map((trainerId) => ({ install, trainerId }));
    await inTransaction(ctx.database, (tx) => postponeDerivation(tx, waiting));
  }
}

/**
 * Trainers with links of their contracts that are not recorded as the reason of a membership. It subtracts sets,
 * because one customer may put thousands of people on a contract, or link thousands of projects.
 */
async function findUnrecorded(db: Transaction, install: string) {
  const open = db.selectFrom('contract').where('contract.install', '=', install).where(mayBeOpen());
  const recorded = open
    .innerJoin('reason', onSame('reason', 'contract', ['install', 'contractId']))
    .innerJoin('membership', 'membership.id', 'reason.membershipId')
    // A trainer who was never added, because the configuration no longer covered the link, is added once it covers the
    // link again.
    .where((eb) =>
      eb.not(eb.and([eb('membership.state', '=', 'removed'), eb('isOurs', '=', false), eb('memberId', 'is', null)])),
    )
    .select(['trainerId', 'reason.contractId', 'linkId']);
  const unrecorded = open
    .innerJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .select(['trainerId', 'contract.contractId', 'linkId'])
    .except(recorded);
  return await db
    .selectFrom(unrecorded.as('pair'))
    .innerJoin('link', 'link.linkId', 'pair.linkId')
    .where('link.install', '=', install)
    .select(['pair.trainerId', 'externalProjectId', 'externalProjectName', 'provisioningMode'])
    .execute();
}
