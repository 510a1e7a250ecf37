import type { MembershipRow, ReasonTable } from '../db/tables.ts';
import type { GrantEvidence } from '../domain/evidence.ts';
import { deriveMembership, type MembershipCore, type Verdict } from '../domain/membership.ts';
import { type Graces, standingOf } from '../domain/standing.ts';
import { type Ground, type Heir, judgeMembership } from './judge-membership.ts';
import type { RouteLink } from './link-router.ts';
import type { Participation } from './membership-store.ts';

/** A membership that the evidence makes, or makes different, or gives another reason. */
export interface MembershipChange {
  place: Place;
  before: MembershipRow | undefined;
  after: MembershipCore;
  /** Reasons that stand and are not recorded yet. */
  reasons: Reason[];
}

export type Reason = Omit<ReasonTable, 'membershipId'>;

export interface Place {
  tool: string;
  groupId: string;
  trainerId: string;
}

/** All that is known of some trainers. */
export interface Known {
  participations: Participation[];
  memberships: MembershipRow[];
  reasons: ReasonTable[];
  grants: GrantEvidence[];
  heirs: Heir[];
  /** `install/trainer` of everyone whose address an install knows and may be used. */
  addresses: ReadonlySet<string>;
}

export interface Rules {
  routeLink: RouteLink;
  graces: Graces;
}

/**
 * Pure: from what is known of some trainers to what has to change about their memberships. What the
 * configuration no longer leads to is never ended by that: configuration is not evidence.
 */
export function planMemberships(known: Known, rules: Rules): MembershipChange[] {
  const candidates = collectGrounds(known, rules);
  return [...candidates.values()].flatMap(({ place, before, grounds, recorded }) => {
    const isKnown = (install: string) => known.addresses.has(`${install}/${place.trainerId}`);
    const verdict = judgeMembership(grounds, known.heirs, (installs) =>
      preferInstall(installs, isKnown, before?.install),
    );
    if (verdict === null) return [];
    const core = before === undefined ? null : toCore(before);
    const after = deriveMembership(core, verdict, {
      hasEmail: verdict.kind === 'wanted' && isKnown(verdict.install),
      wasTouched: before !== undefined && (before.isOurs === 1 || before.memberId !== null),
    });
    const reasons = toRecord(verdict, grounds, recorded);
    const isSame = after === core && reasons.length === 0;
    return after === null || isSame ? [] : [{ place, before, after, reasons }];
  });
}

/** The one that knows an address, then the one it was, then the first by name. */
function preferInstall(
  installs: string[],
  isKnown: (install: string) => boolean,
  current: string | undefined,
): string | undefined {
  const known = installs.filter(isKnown);
  const candidates = (known.length > 0 ? known : installs).sort();
  return candidates.find((install) => install === current) ?? candidates[0];
}

interface Candidate {
  place: Place;
  before: MembershipRow | undefined;
  grounds: Ground[];
  /** Keys of the reasons that stand in the database. */
  recorded: ReadonlySet<string>;
}

function collectGrounds(known: Known, { routeLink, graces }: Rules): Map<string, Candidate> {
  const candidates = candidatesOf(known);
  const grantsBy = Map.groupBy(known.grants, (grant) => grant.install);
  const candidatesBy = Map.groupBy([...candidates.values()], ({ place }) => place.trainerId);
  for (const participation of known.participations) {
    const { install, trainerId } = participation;
    const ground = toGround(participation, grantsBy.get(install) ?? [], graces);
    const route = routeLink(participation);
    const here = route && candidateAt(candidates, { ...route, trainerId });
    here?.grounds.push({ ...ground, isRouted: true });
    const elsewhere = (candidatesBy.get(trainerId) ?? []).filter(
      (other) => other !== here && other.recorded.has(reasonKey(ground)),
    );
    for (const other of elsewhere) other.grounds.push({ ...ground, isRouted: false });
  }
  return candidates;
}

function candidatesOf({ memberships, reasons }: Known): Map<string, Candidate> {
  const reasonsBy = Map.groupBy(reasons, (reason) => reason.membershipId);
  return new Map(
    memberships.map((before) => {
      const recorded = new Set((reasonsBy.get(before.id) ?? []).map(reasonKey));
      return [keyOf(before), { place: toPlace(before), before, grounds: [], recorded }];
    }),
  );
}

function candidateAt(candidates: Map<string, Candidate>, place: Place): Candidate {
  const key = keyOf(place);
  const known = candidates.get(key);
  if (known !== undefined) return known;
  const candidate: Candidate = { place, before: undefined, grounds: [], recorded: new Set() };
  candidates.set(key, candidate);
  return candidate;
}

function toGround(
  participation: Participation,
  grants: GrantEvidence[],
  graces: Graces,
): Omit<Ground, 'isRouted'> {
  const { install, contractId, linkId, externalProjectId, provisioningMode } = participation;
  const facts = {
    contract: { ...participation, absences: participation.contractAbsences },
    link: { ...participation, absences: participation.linkAbsences },
    participation: { absences: participation.participationAbsences, seenAt: participation.onItAt },
    grants,
  };
  return {
    ...{ install, contractId, linkId, externalProjectId },
    standing: standingOf(facts, graces),
    isManaged: provisioningMode === 'MANAGED_ADAPTER',
  };
}

/** What stands is written down, so that an end can later be told from a new configuration. */
function toRecord(
  verdict: Verdict,
  grounds: readonly Ground[],
  recorded: ReadonlySet<string>,
): Reason[] {
  if (verdict.kind !== 'wanted') return [];
  return grounds
    .filter(({ isRouted, isManaged, standing }) => isRouted && !isManaged && standing.stands)
    .map(({ install, contractId, linkId }) => ({ install, contractId, linkId }))
    .filter((reason) => !recorded.has(reasonKey(reason)));
}

function toCore(row: MembershipRow): MembershipCore {
  const { wanted, generation, state, install, cause, removeAfter } = row;
  return { wanted: wanted === 1, generation, state, install, cause, removeAfter };
}

function toPlace({ tool, groupId, trainerId }: Place): Place {
  return { tool, groupId, trainerId };
}

function keyOf({ tool, groupId, trainerId }: Place): string {
  return JSON.stringify([tool, groupId, trainerId]);
}

function reasonKey({ install, contractId, linkId }: Reason): string {
  return JSON.stringify([install, contractId, linkId]);
}
