import type { Row } from '../db/schema.ts';
import type { GrantEvidence } from '../domain/evidence.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import type { RouteLink } from '../domain/install.ts';
import { deriveMembership, heldStates, type MembershipCore, type MembershipVerdict } from '../domain/membership.ts';
import { type GracePeriods, standingOf } from '../domain/standing.ts';
import { isOurReason, judgeMembership, type Reason, type SuccessorLink } from './judge-membership.ts';
import type { Participation } from './membership-store.ts';
import {
  type ClaimingInstall,
  chooseAddress,
  type MembershipKey,
  type SeatMembership,
  shareSeat,
} from './share-seat.ts';

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

/** A membership to create or to change, or a new reason or address for it. */
export interface MembershipChange {
  seat: Seat;
  before: Row<'membership'> | undefined;
  after: MembershipCore;
  /** Standing reasons that are not recorded yet, or not yet as one whose install named the address. */
  newReasons: ReasonRecord[];
  /** Its new address, and the install that named it; null if the address stays. */
  address: { install: string; address: string } | null;
}

type ReasonRecord = Omit<Row<'reason'>, 'membershipId' | 'recordedAt'>;

/**
 * Plans the changes to the memberships of some trainers. A membership that the configuration no longer routes to does
 * not end: configuration is not evidence. Pure.
 */
export function planMemberships(
  facts: TrainerFacts,
  routeLink: RouteLink,
  gracePeriods: GracePeriods,
): MembershipChange[] {
  return collectCandidates(facts, routeLink, gracePeriods).flatMap((candidate) => {
    const { seat, before, reasons } = candidate;
    const current = facts.current.get(before?.id ?? 0) ?? null;
    const addressBy = (install: string) => facts.addresses.get(`${install}/${seat.trainerId}`) ?? null;
    const installs = [...new Set(reasons.filter(isOurReason).map(({ install }) => install))].sort();
    const named = chooseAddress(
      current,
      installs.map((install) => ({ install, address: addressBy(install) })),
    );
    const isNamedBy = (install: string) => named !== null && addressBy(install) === named;
    const verdict = judgeMembership(reasons, facts.successorLinks, (ours) =>
      preferInstall(ours, (install) => addressBy(install) !== null, before?.install),
    );
    if (verdict === null) return [];
    const core = toCore(before);
    const hasEmail = verdict.kind === 'wanted' && named !== null;
    const after = deriveMembership(core, verdict, { hasEmail, wasTouched: isTouched(before) });
    const newReasons = toRecord(verdict, candidate, isNamedBy);
    const address = named === current ? null : toAddress(named, installs.find(isNamedBy));
    const isSame = after === core && newReasons.length === 0 && address === null;
    return after === null || isSame ? [] : [{ seat, before, after, newReasons, address }];
  });
}

/** Prefers an install that knows an address, then the current one, then the first by name. */
function preferInstall(
  installs: string[],
  hasAddress: (install: string) => boolean,
  current: string | undefined,
): string | undefined {
  const known = installs.filter(hasAddress);
  const candidates = (known.length > 0 ? known : installs).sort();
  return candidates.find((install) => install === current) ?? candidates[0];
}

function toAddress(address: string | null, install: string | undefined): MembershipChange['address'] {
  return address === null || install === undefined ? null : { install, address };
}

/** Standing reasons are recorded, so that an end can later be told from a change of the configuration. */
function toRecord(
  verdict: MembershipVerdict,
  { reasons, recorded }: Pick<MembershipCandidate, 'reasons' | 'recorded'>,
  isNamedBy: (install: string) => boolean,
): ReasonRecord[] {
  if (verdict.kind !== 'wanted') return [];
  return reasons
    .filter(isOurReason)
    .map(({ install, contractId, linkId }) => ({ install, contractId, linkId, isNamed: isNamedBy(install) }))
    .filter((reason) => (recorded.get(reasonKey(reason))?.isNamed ?? -1) < reason.isNamed);
}

function toCore(membership: Row<'membership'> | undefined): MembershipCore | null {
  if (membership === undefined) return null;
  const { wanted, generation, state, install, cause, removeAfter } = membership;
  return { wanted, generation, state, install, cause, removeAfter };
}

/** Whether the trainer is, or may be, in the tool by this membership. */
function isTouched(membership: Row<'membership'> | undefined): boolean {
  if (membership === undefined) return false;
  const { isOurs, memberId, lateUntil } = membership;
  return isOurs || memberId !== null || lateUntil !== null;
}

/** A membership that exists, or may come to exist, with every reason that it has or had. */
export interface MembershipCandidate {
  seat: Seat;
  before: Row<'membership'> | undefined;
  reasons: Reason[];
  /** The reasons that are recorded in the database, by their keys. */
  recorded: ReadonlyMap<string, Pick<Row<'reason'>, 'isNamed'>>;
}

/** The addresses that installs know decide which membership of a seat a reason belongs to. Pure. */
export function collectCandidates(
  facts: TrainerFacts,
  routeLink: RouteLink,
  gracePeriods: GracePeriods,
): MembershipCandidate[] {
  const candidates = candidatesOf(facts);
  const grantsBy = Map.groupBy(facts.grants, (grant) => grant.install);
  const candidatesBy = Map.groupBy([...candidates.values()], ({ seat }) => seat.trainerId);
  const routed = facts.participations.map((participation): RoutedReason => {
    const { install, trainerId } = participation;
    const route = routeLink(participation);
    const isRouted = route !== undefined;
    const reason = { ...toReason(participation, grantsBy.get(install) ?? [], gracePeriods), isRouted };
    const address = facts.addresses.get(`${install}/${trainerId}`) ?? null;
    return { reason, trainerId, address, seat: route && { ...route, trainerId } };
  });
  const membershipsOf = assignMemberships(facts, routed, candidates);
  for (const { reason, trainerId, address, seat } of routed) {
    const here = seat ? membershipsOf(seat, reason.install).map((key) => candidateAt(candidates, seat, key)) : [];
    // Without an address, a project that the marketplace provisions does not affect an access that others gave.
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
 * Leaves out reasons of an install under a former name, because their evidence no longer changes. Such a reason counts
 * only if no routed install has the same grant or the same contract.
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
      const { tool, groupId, trainerId } = before;
      const seat = { tool, groupId, trainerId };
      const recorded = new Map((reasonsBy.get(before.id) ?? []).map((reason) => [reasonKey(reason), reason]));
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
  const reasonsBy = Map.groupBy(reasonRows, ({ membershipId }) => membershipId);
  const candidatesBy = Map.groupBy([...candidates.values()], ({ seat }) => seatKey(seat));
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
      const memberships = (candidatesBy.get(key) ?? []).flatMap(({ before }): SeatMembership[] => {
        if (before === undefined) return [];
        const { id, wanted, state } = before;
        return [
          {
            id,
            address: current.get(id) ?? null,
            isOpen: wanted || heldStates.some((held) => held === state),
            installs: toInstalls(reasonsBy.get(id) ?? [], addressInstalls.get(id)),
          },
        ];
      });
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
  const { install, contractId, linkId, externalProjectId, jobId, activeReadAt } = participation;
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
    provisioning: provisioningOf(participation.provisioningMode),
  };
}

function seatKey({ tool, groupId, trainerId }: Seat): string {
  return JSON.stringify([tool, groupId, trainerId]);
}

function membershipKey(seat: Seat, membership: MembershipKey): string {
  return JSON.stringify([seatKey(seat), membership]);
}

export function reasonKey({ install, contractId, linkId }: Omit<ReasonRecord, 'isNamed'>): string {
  return JSON.stringify([install, contractId, linkId]);
}
