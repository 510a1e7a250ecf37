import type { Transaction } from '../db/database.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Claim } from './claim-store.ts';
import type { Route, RouteLink } from './link-router.ts';

/** The SQL of projects that the marketplace itself provisions (`MANAGED_ADAPTER`). */

/** What tells whose an account is. */
export interface AccountRules {
  box: SecretBox;
  routeLink: RouteLink;
}

/**
 * Where in the tool the marketplace itself puts them, by links that it provisions: they are there by
 * its doing, and their account is in use, whatever else we know of it.
 */
export async function managedPlaces(
  tx: Transaction,
  { box, routeLink }: AccountRules,
  { tool, install, trainerId, addresses }: Claim,
): Promise<Route[]> {
  const digests = addresses.flatMap(({ address }) => box.digests(address));
  const ofAddress = await tx
    .selectFrom('person')
    .select(['install', 'trainerId'])
    .where('workEmailDigest', 'in', digests.length > 0 ? digests : [''])
    .execute();
  // By an id alone only its own word counts: another customer may name any.
  const people = [...ofAddress, { install, trainerId }];
  const managed = await tx
    .selectFrom('participation')
    .innerJoin('contract', (join) =>
      join
        .onRef('contract.install', '=', 'participation.install')
        .onRef('contract.contractId', '=', 'participation.contractId'),
    )
    .innerJoin('contractLink', (join) =>
      join
        .onRef('contractLink.install', '=', 'participation.install')
        .onRef('contractLink.contractId', '=', 'participation.contractId'),
    )
    .innerJoin('link', (join) =>
      join
        .onRef('link.install', '=', 'contractLink.install')
        .onRef('link.linkId', '=', 'contractLink.linkId'),
    )
    .select(['link.install', 'externalProjectId', 'externalProjectName'])
    .distinct()
    .where((eb) =>
      eb.or(
        people.map((one) =>
          eb.and({
            'participation.trainerId': one.trainerId,
            'participation.install': one.install,
          }),
        ),
      ),
    )
    .where('provisioningMode', '=', 'MANAGED_ADAPTER')
    .where('removedEventAt', 'is', null)
    .where('endedReadAt', 'is', null)
    .where('endedEventAt', 'is', null)
    .execute();
  return managed.flatMap((link) => routeLink(link) ?? []).filter((route) => route.tool === tool);
}
