import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { leftSince, movedSince, statusOfLink } from '../domain/evidence-status.ts';
import type { Route } from '../domain/route.ts';
import { linkedParticipations } from '../memberships/membership-store.ts';
import type { Claim } from './claim-store.ts';

/** The SQL of projects that the marketplace itself provisions, or may provision. */

/**
 * The groups of the tool where the marketplace itself adds the trainer. The account is in use there, whatever else we
 * know about it.
 */
export async function managedGroups(
  { box, routeLink }: Context,
  tx: Transaction,
  { tool, install, trainerId, addresses }: Claim,
): Promise<Route[]> {
  const digests = addresses.map(({ address }) => box.digest(address));
  // Trainer ids count only for the install itself, because another customer may name any id. One statement suffices,
  // because another customer may give any number of trainers this address.
  const people = sql<{ install: string; trainerId: string }>`(
    select install, trainer_id from person
    where work_email_digest in (${sql.join([...digests, ''])})
    union select cast(${install} as text), cast(${trainerId} as text))`;
  const managed = await linkedParticipations(tx)
    .innerJoin(people.as('people'), (join) =>
      join
        .onRef('people.install', '=', 'participation.install')
        .onRef('people.trainerId', '=', 'participation.trainerId'),
    )
    .select(['link.install', 'externalProjectId', 'externalProjectName', 'removedEventAt'])
    .select(['link.seenAt', 'link.absences', 'omissions', 'namedAt'])
    .select(['participation.absences as participationAbsences', 'participation.seenAt as trainerSeenAt'])
    // A link of an unknown mode may be provisioned by the marketplace.
    .where('provisioningMode', '<>', 'PARTNER_WEBHOOK')
    .where('endedReadAt', 'is', null)
    .where('endedEventAt', 'is', null)
    .execute();
  const present = managed.filter(
    ({ participationAbsences, trainerSeenAt, ...link }) =>
      statusOfLink(link) === 'live' &&
      movedSince(link) === null &&
      leftSince({ absences: participationAbsences, seenAt: trainerSeenAt }) === null,
  );
  return present.flatMap((link) => routeLink(link) ?? []).filter((route) => route.tool === tool);
}
