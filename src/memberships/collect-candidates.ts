import type { MembershipRow, ReasonRow } from '../db/tables.ts';
import type { GrantEvidence } from '../domain/evidence.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import { type Graces, standingOf } from '../domain/standing.ts';
import type { Ground, Heir } from './judge-membership.ts';
import type { RouteLink } from './link-router.ts';
import type { Participation } from './membership-store.ts';
import { type Claimant, sharePlace } from './share-place.ts';

export interface Place {
  tool: string;
  groupId: string;
  trainerId: string;
}

/** All that is known of some trainers. */
export interface Known {
  participations: Participation[];
  memberships: MembershipRow[];
  reasons: ReasonRow[];
  grants: GrantEvidence[];
  heirs: Heir[];
  /** As `install/trainer`: the address that an install knows and that may be used, in lower case. */
  addresses: ReadonlyMap<string, string>;
  /** By membership: the address that it is for, in lower case. */
  current: ReadonlyMap<number, string>;
  /** By membership: the installs whose word an address was that it is, or was, for. */
  words: ReadonlyMap<number, ReadonlySet<string>>;
}

export interface Rules {
  routeLink: RouteLink;
  graces: Graces;
  /** Whether a tool leaves with somebody what is assigned to them; left out where none does. */
  endsAssignments?: (tool: string) => boolean;
}

/** A membership that there is, or may be, with everything that speaks for it or did. */
export interface Candidate {
  place: Place;
  before: MembershipRow | undefined;
  grounds: Ground[];
  /** Keys of the reasons that stand in the database. */
  recorded: ReadonlySet<string>;
}

/** Pure. Who names which address decides which membership of a place a reason belongs to. */
export function collectCandidates(known: Known, { routeLink, graces }: Rules): Candidate[] {
  const candidates = candidatesOf(known);
  const grantsBy = Map.groupBy(known.grants, (grant) => grant.install);
  const candidatesBy = Map.groupBy([...candidates.values()], ({ place }) => place.trainerId);
  const routed = known.participations.map((participation) => {
    const route = routeLink(participation);
    return { participation, place: route && { ...route, trainerId: participation.trainerId } };
  });
  const seatOf = assignSeats(known, routed, candidates);
  for (const { participation, place } of routed) {
    const { install, trainerId } = participation;
    const ground = toGround(participation, grantsBy.get(install) ?? [], graces);
    const here = place && candidateAt(candidates, place, seatOf(place, install));
    here?.grounds.push({ ...ground, isRouted: true });
    // Where it was a reason before, unless it has only gone to another membership of the same place.
    const elsewhere = (candidatesBy.get(trainerId) ?? []).filter(
      (other) => (place === undefined || keyOf(other.place) !== keyOf(place)) && other.recorded.has(reasonKey(ground)),
    );
    for (const other of elsewhere) other.grounds.push({ ...ground, isRouted: false });
  }
  return [...candidates.values()].map((candidate) => ({
    ...candidate,
    grounds: withoutOldNames(candidate.grounds, grantsBy),
  }));
}

/**
 * What an install of another name knew before it was renamed stands still: where an install that the
 * configuration leads here from knows the same customer, or the same contract, its word counts alone.
 */
function withoutOldNames(grounds: Ground[], grantsBy: ReadonlyMap<string, GrantEvidence[]>): Ground[] {
  const routed = grounds.filter(({ isRouted }) => isRouted);
  if (routed.length === grounds.length) return grounds;
  const grantIds = (install: string) => (grantsBy.get(install) ?? []).map(({ grantId }) => grantId);
  const isOldNameOf = (old: Ground, one: Ground) =>
    old.install !== one.install &&
    (old.contractId === one.contractId ||
      grantIds(old.install).some((grantId) => grantIds(one.install).includes(grantId)));
  return grounds.filter((old) => old.isRouted || !routed.some((one) => isOldNameOf(old, one)));
}

/** By the id of the membership, or by what a new one is for. */
type Candidates = Map<string, Candidate>;

function candidatesOf({ memberships, reasons }: Known): Candidates {
  const reasonsBy = Map.groupBy(reasons, (reason) => reason.membershipId);
  const inOrder = memberships.toSorted((a, b) => a.id - b.id);
  return new Map(
    inOrder.map((before) => {
      const recorded = new Set((reasonsBy.get(before.id) ?? []).map(reasonKey));
      const place = toPlace(before);
      return [seatKey(place, before.id), { place, before, grounds: [], recorded }];
    }),
  );
}

interface RoutedParticipation {
  participation: Participation;
  place: Place | undefined;
}

/** Each install's reasons at a place belong to one membership there (`share-place.ts`). */
function assignSeats(
  { addresses, current, reasons, words }: Known,
  routed: readonly RoutedParticipation[],
  candidates: Candidates,
): (place: Place, install: string) => number | string {
  const installsBy = Map.groupBy(reasons, ({ membershipId }) => membershipId);
  const seatsBy = Map.groupBy(
    [...candidates.values()].flatMap(({ place, before }) => (before === undefined ? [] : [{ place, before }])),
    ({ place }) => keyOf(place),
  );
  const claimantsBy = new Map<string, Map<string, Claimant>>();
  for (const { participation, place } of routed) {
    if (place === undefined) continue;
    const { install, trainerId } = participation;
    const claimants = claimantsBy.get(keyOf(place)) ?? new Map<string, Claimant>();
    claimantsBy.set(keyOf(place), claimants);
    const address = addresses.get(`${install}/${trainerId}`) ?? null;
    claimants.set(install, { install, address });
  }
  const shared = new Map(
    [...claimantsBy].map(([key, claimants]) => {
      const seats = (seatsBy.get(key) ?? []).map(({ before }) => ({
        id: before.id,
        address: current.get(before.id) ?? null,
        isWanted: before.wanted === 1,
        installs: toInstalls(installsBy.get(before.id) ?? [], words.get(before.id)),
      }));
      return [key, sharePlace([...claimants.values()], seats)];
    }),
  );
  return (place, install) => shared.get(keyOf(place))?.get(install) ?? '';
}

function toInstalls(
  reasons: readonly ReasonRow[],
  words: ReadonlySet<string> = new Set(),
): Map<string, { isNamed: boolean }> {
  const named = new Set(words);
  for (const { install, isNamed } of reasons) if (isNamed === 1) named.add(install);
  return new Map(reasons.map(({ install }) => [install, { isNamed: named.has(install) }]));
}

function candidateAt(candidates: Candidates, place: Place, seat: number | string): Candidate {
  const key = seatKey(place, seat);
  const known = candidates.get(key);
  if (known !== undefined) return known;
  const candidate: Candidate = { place, before: undefined, grounds: [], recorded: new Set() };
  candidates.set(key, candidate);
  return candidate;
}

function toGround(participation: Participation, grants: GrantEvidence[], graces: Graces): Omit<Ground, 'isRouted'> {
  const { install, contractId, linkId, externalProjectId, provisioningMode } = participation;
  const { jobId, activeReadAt } = participation;
  const facts = {
    contract: participation,
    link: { ...participation, absences: participation.linkAbsences },
    pair: participation,
    participation: { absences: participation.participationAbsences, seenAt: participation.onItAt },
    grants,
  };
  return {
    install,
    contractId,
    linkId,
    externalProjectId,
    jobId,
    activeReadAt,
    standing: standingOf(facts, graces),
    provisioning: provisioningOf(provisioningMode),
  };
}

/** Whether somebody is, or may be, in the tool by it. */
export function isTouched({ isOurs, memberId }: MembershipRow): boolean {
  return isOurs === 1 || memberId !== null;
}

function toPlace({ tool, groupId, trainerId }: Place): Place {
  return { tool, groupId, trainerId };
}

function keyOf({ tool, groupId, trainerId }: Place): string {
  return JSON.stringify([tool, groupId, trainerId]);
}

function seatKey(place: Place, seat: number | string): string {
  return JSON.stringify([keyOf(place), seat]);
}

export function reasonKey({
  install,
  contractId,
  linkId,
}: Pick<ReasonRow, 'install' | 'contractId' | 'linkId'>): string {
  return JSON.stringify([install, contractId, linkId]);
}
