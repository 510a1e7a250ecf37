import type { MembershipRow } from '../db/tables.ts';
import { statusOfContract, statusOfLink } from '../domain/evidence.ts';
import { deriveMembership, type MembershipCore, type Reason } from '../domain/membership.ts';
import type { RouteLink } from './link-router.ts';
import type { Participation } from './membership-store.ts';

/** A membership that the evidence makes, or makes different. */
export interface MembershipChange {
  place: Place;
  before: MembershipRow | undefined;
  after: MembershipCore;
}

interface Place {
  tool: string;
  groupId: string;
  trainerId: string;
}

interface Known {
  participations: Participation[];
  memberships: MembershipRow[];
  /** `install/trainer` of everyone whose address some install knows. */
  addresses: ReadonlySet<string>;
}

/**
 * Pure: from what is known of some trainers to what has to change about their memberships. One
 * whose install or tool is no longer configured stays as it is: configuration is not evidence.
 */
export function planMemberships(known: Known, routeLink: RouteLink): MembershipChange[] {
  const current = new Map(known.memberships.map((row) => [keyOf(row), row]));
  const places = collectReasons(known.participations, routeLink);
  return [...places].flatMap(([key, { place, reasons }]) => {
    const standing = reasons.filter((reason) => reason.stands);
    const before = current.get(key);
    const core = before === undefined ? null : toCore(before);
    const after = deriveMembership(core, {
      isWanted: standing.length > 0,
      hasEmail: standing.some((reason) =>
        known.addresses.has(`${reason.install}/${place.trainerId}`),
      ),
      wasTouched: before !== undefined && (before.isOurs === 1 || before.memberId !== null),
    });
    return after === null || after === core ? [] : [{ place, before, after }];
  });
}

/** @returns by place, everything that is or was a reason to be there */
function collectReasons(
  participations: Participation[],
  routeLink: RouteLink,
): Map<string, { place: Place; reasons: Reason[] }> {
  const byPlace = new Map<string, { place: Place; reasons: Reason[] }>();
  for (const participation of participations) {
    const route = routeLink(participation);
    if (route === undefined) continue;
    const place = { ...route, trainerId: participation.trainerId };
    const entry = byPlace.get(keyOf(place)) ?? { place, reasons: [] };
    entry.reasons.push(toReason(participation));
    byPlace.set(keyOf(place), entry);
  }
  return byPlace;
}

/** A disputed end keeps access: the marketplace itself lists the contract as active. */
function toReason(participation: Participation): Reason {
  const { install, contractId, linkId } = participation;
  const contract = statusOfContract(participation);
  const stands =
    (contract === 'active' || contract === 'disputed') && statusOfLink(participation) === 'live';
  return { install, contractId, linkId, stands };
}

function toCore({ wanted, generation, state }: MembershipRow): MembershipCore {
  return { wanted: wanted === 1, generation, state };
}

function keyOf({ tool, groupId, trainerId }: Place): string {
  return JSON.stringify([tool, groupId, trainerId]);
}
