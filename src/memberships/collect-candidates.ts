import type { Row } from '../db/schema.ts';
import type { GrantEvidence } from '../domain/evidence.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import type { RouteLink } from '../domain/install.ts';
import { heldStates } from '../domain/membership.ts';
import { type GracePeriods, standingOf } from '../domain/standing.ts';
import { isOurReason, type Reason, type SuccessorLink } from './judge-membership.ts';
import type { Participation } from './membership-store.ts';
import { type ClaimingInstall, type MembershipKey, type SeatMembership, shareSeat } from './share-seat.ts';

export interface Seat {
  tool: string;
  groupId: string;
  trainerId: string;
}

/** All that is known about some trainers. */
export interface TrainerFacts {
  participations: Participation[];
  memberships: Row<'membership'>[];
  reasonRows: Omit<Row<'reason'>, 'recordedAt'>[];
  grants: GrantEvidence[];
  successorLinks: SuccessorLink[];
  /** By `install/trainer`: the address that an install knows and that may be used, in lower case. */
  addresses: ReadonlyMap<string, string>;
  /** By membership: its current address, in lower case. */
  current: ReadonlyMap<number, string>;
  /** By membership: the installs that named one of its addresses, current or former. */
  addressInstalls: ReadonlyMap<number, ReadonlySet<string>>;
}

/** A membership that exists, or may come to exist, with all reasons that stand for it or did. */
export interface MembershipCandidate {
  seat: Seat;
  before: Row<'membership'> | undefined;
  reasons: Reason[];
  /** The reasons that are recorded in the database, by their keys. */
  recorded: ReadonlyMap<string, Pick<Row<'reason'>, 'isNamed'>>;
}

/**
 * Collects the candidates. The addresses that installs know decide which membership of a seat a reason belongs to.
 * Pure.
 */
export function collectCandidates(
  known: TrainerFacts,
  routeLink: RouteLink,
  gracePeriods: GracePeriods,
): MembershipCandidate[] {
  const candidates = candidatesOf(known);
  const grantsBy = Map.groupBy(known.grants, (grant) => grant.install);
  const candidatesBy = Map.groupBy([...candidates.values()], ({ seat }) => seat.trainerId);
  const routed = known.participations.map((participation): RoutedReason => {
    const { install, trainerId } = participation;
    const route = routeLink(participation);
    const isRouted = route !== undefined;
    const reason = { ...toReason(participation, grantsBy.get(install) ?? [], gracePeriods), isRouted };
    const address = known.addresses.get(`${install}/${trainerId}`) ?? null;
    return { reason, trainerId, address, seat: route && { ...route, trainerId } };
  });
  const membershipsOf = assignMemberships(known, routed, candidates);
  for (const { reason, trainerId, address, seat } of routed) {
    const here = seat ? membershipsOf(seat, reason.install).map((key) => candidateAt(candidates, seat, key)) : [];
    // Without an address, a project that the marketplace provisions says nothing about an access that others gave.
    const kept = here.filter(
      ({ recorded }) => address !== null || reason.provisioning !== 'of_marketplace' || recorded.has(reasonKey(reason)),
    );
    for (const one of kept) one.reasons.push(reason);
    // Memberships in other seats that this reason was recorded for.
    const elsewhere = (candidatesBy.get(trainerId) ?? []).filter(
      (other) => (seat === undefined || seatKey(other.seat) !== seatKey(seat)) && other.recorded.has(reasonKey(reason)),
    );
    for (const other of elsewhere) other.reasons.push({ ...reason, isRouted: false });
  }
  return [...candidates.values()].map((candidate) => ({
    ...candidate,
    reasons: withoutOldNames(candidate.reasons, grantsBy),
  }));
}

/**
 * Leaves out reasons of an install under a former name, whose evidence no longer changes. Such a reason counts only if
 * no routed install knows the same customer or the same contract.
 */
function withoutOldNames(reasons: Reason[], grantsBy: ReadonlyMap<string, GrantEvidence[]>): Reason[] {
  const routed = reasons.filter(({ isRouted }) => isRouted);
  if (routed.length === reasons.length) return reasons;
  const grantIds = (install: string) => (grantsBy.get(install) ?? []).map(({ grantId }) => grantId);
  const isOldNameOf = (old: Reason, one: Reason) =>
    old.install !== one.install &&
    (old.contractId === one.contractId ||
      grantIds(old.install).some((grantId) => grantIds(one.install).includes(grantId)));
  return reasons.filter((old) => old.isRouted || !routed.some((one) => isOldNameOf(old, one)));
}

/** The key is the id of a membership, or the name of a new one. */
type Candidates = Map<string, MembershipCandidate>;

function candidatesOf({ memberships, reasonRows }: TrainerFacts): Candidates {
  const reasonsBy = Map.groupBy(reasonRows, (reason) => reason.membershipId);
  const inOrder = memberships.toSorted((a, b) => a.id - b.id);
  return new Map(
    inOrder.map((before) => {
      const recorded = new Map((reasonsBy.get(before.id) ?? []).map((reason) => [reasonKey(reason), reason]));
      const seat = toSeat(before);
      return [membershipKey(seat, before.id), { seat, before, reasons: [], recorded }];
    }),
  );
}

interface RoutedReason {
  reason: Reason;
  trainerId: string;
  /** The address that its install knows. */
  address: string | null;
  /** Undefined if the configuration leads to no group. */
  seat: Seat | undefined;
}

/** Assigns each install's reasons for a seat to memberships of the seat (`share-seat.ts`). */
function assignMemberships(
  { current, reasonRows, addressInstalls }: TrainerFacts,
  routed: readonly RoutedReason[],
  candidates: Candidates,
): (seat: Seat, install: string) => MembershipKey[] {
  const installsBy = Map.groupBy(reasonRows, ({ membershipId }) => membershipId);
  const membershipsBy = Map.groupBy(
    [...candidates.values()].flatMap(({ seat, before }) => (before === undefined ? [] : [{ seat, before }])),
    ({ seat }) => seatKey(seat),
  );
  const claimantsBy = new Map<string, Map<string, ClaimingInstall>>();
  for (const { reason, address, seat } of routed) {
    if (seat === undefined) continue;
    const { install } = reason;
    const claimants = claimantsBy.get(seatKey(seat)) ?? new Map<string, ClaimingInstall>();
    claimantsBy.set(seatKey(seat), claimants);
    const stands = isOurReason(reason) || claimants.get(install)?.stands === true;
    claimants.set(install, { install, address, stands });
  }
  const shared = new Map(
    [...claimantsBy].map(([key, claimants]) => {
      const memberships = (membershipsBy.get(key) ?? []).map(
        ({ before }): SeatMembership => ({
          id: before.id,
          address: current.get(before.id) ?? null,
          isOpen: before.wanted || heldStates.some((state) => state === before.state),
          installs: toInstalls(installsBy.get(before.id) ?? [], addressInstalls.get(before.id)),
        }),
      );
      return [key, shareSeat([...claimants.values()], memberships)];
    }),
  );
  return (seat, install) => shared.get(seatKey(seat))?.get(install) ?? [];
}

function toInstalls(
  reasons: readonly Pick<Row<'reason'>, 'install' | 'isNamed'>[],
  addressInstalls: ReadonlySet<string> = new Set(),
): Map<string, { isNamed: boolean }> {
  const named = new Set(addressInstalls);
  for (const { install, isNamed } of reasons) if (isNamed) named.add(install);
  return new Map(reasons.map(({ install }) => [install, { isNamed: named.has(install) }]));
}

function candidateAt(candidates: Candidates, seat: Seat, membership: MembershipKey): MembershipCandidate {
  const key = membershipKey(seat, membership);
  const known = candidates.get(key);
  if (known !== undefined) return known;
  const candidate: MembershipCandidate = { seat, before: undefined, reasons: [], recorded: new Map() };
  candidates.set(key, candidate);
  return candidate;
}

function toReason(
  participation: Participation,
  grants: GrantEvidence[],
  gracePeriods: GracePeriods,
): Omit<Reason, 'isRouted'> {
  const { install, contractId, linkId, externalProjectId, provisioningMode } = participation;
  const { jobId, activeReadAt } = participation;
  const facts = {
    contract: participation,
    link: { ...participation, absences: participation.linkAbsences },
    pair: participation,
    participation: { absences: participation.participationAbsences, seenAt: participation.trainerSeenAt },
    grants,
  };
  return {
    install,
    contractId,
    linkId,
    externalProjectId,
    jobId,
    activeReadAt,
    standing: standingOf(facts, gracePeriods),
    provisioning: provisioningOf(provisioningMode),
  };
}

/** Whether the trainer is, or may be, in the tool by this membership. */
export function isTouched({ isOurs, memberId, lateUntil }: Row<'membership'>): boolean {
  return isOurs || memberId !== null || lateUntil !== null;
}

function toSeat({ tool, groupId, trainerId }: Seat): Seat {
  return { tool, groupId, trainerId };
}

function seatKey({ tool, groupId, trainerId }: Seat): string {
  return JSON.stringify([tool, groupId, trainerId]);
}

function membershipKey(seat: Seat, membership: MembershipKey): string {
  return JSON.stringify([seatKey(seat), membership]);
}

export function reasonKey({
  install,
  contractId,
  linkId,
}: Pick<Row<'reason'>, 'install' | 'contractId' | 'linkId'>): string {
  return JSON.stringify([install, contractId, linkId]);
}
