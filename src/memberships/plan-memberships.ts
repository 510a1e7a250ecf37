import type { Row } from '../db/schema.ts';
import type { RouteLink } from '../domain/install.ts';
import { deriveMembership, type MembershipCore, type MembershipVerdict } from '../domain/membership.ts';
import type { GracePeriods } from '../domain/standing.ts';
import {
  collectCandidates,
  isTouched,
  type MembershipCandidate,
  reasonKey,
  type Seat,
  type TrainerFacts,
} from './collect-candidates.ts';
import { isOurReason, judgeMembership, type Reason } from './judge-membership.ts';
import { chooseAddress } from './share-seat.ts';

/** A membership to create or to change, or a new reason or address for it. */
export interface MembershipChange {
  seat: Seat;
  before: Row<'membership'> | undefined;
  after: MembershipCore;
  /** Reasons that stand and are not recorded yet, or not as one whose install named the address. */
  newReasons: ReasonRecord[];
  /** Its new address, and the install that named it; null if the address stays. */
  address: { install: string; address: string } | null;
}

export type ReasonRecord = Omit<Row<'reason'>, 'membershipId' | 'recordedAt'>;

/**
 * Plans what has to change about the memberships of some trainers. A membership that the configuration no longer routes
 * to does not end: configuration is not evidence. Pure.
 */
export function planMemberships(
  known: TrainerFacts,
  routeLink: RouteLink,
  gracePeriods: GracePeriods,
): MembershipChange[] {
  return collectCandidates(known, routeLink, gracePeriods).flatMap((candidate) => {
    const { seat, before, reasons } = candidate;
    const named = nameAddress(known, candidate);
    const addressBy = (install: string) => known.addresses.get(`${install}/${seat.trainerId}`);
    const isNamedBy = (install: string) => named !== null && addressBy(install) === named;
    const verdict = judgeMembership(reasons, known.successorLinks, (installs) =>
      preferInstall(installs, (install) => addressBy(install) !== undefined, before?.install),
    );
    if (verdict === null) return [];
    const core = before === undefined ? null : toCore(before);
    const after = deriveMembership(core, verdict, {
      hasEmail: verdict.kind === 'wanted' && named !== null,
      wasTouched: before !== undefined && isTouched(before),
    });
    const newReasons = toRecord(verdict, candidate, isNamedBy);
    const address = toAddress(known, candidate, named, isNamedBy);
    const isSame = after === core && newReasons.length === 0 && address === null;
    return after === null || isSame ? [] : [{ seat, before, after, newReasons, address }];
  });
}

/** Prefers an install that knows an address, then the current one, then the first by name. */
function preferInstall(
  installs: string[],
  isKnown: (install: string) => boolean,
  current: string | undefined,
): string | undefined {
  const known = installs.filter(isKnown);
  const candidates = (known.length > 0 ? known : installs).sort();
  return candidates.find((install) => install === current) ?? candidates[0];
}

function nameAddress({ addresses, current }: TrainerFacts, { seat, before, reasons }: MembershipCandidate) {
  return chooseAddress(
    before === undefined ? null : (current.get(before.id) ?? null),
    installsStanding(reasons).map((install) => ({
      install,
      address: addresses.get(`${install}/${seat.trainerId}`) ?? null,
    })),
  );
}

function toAddress(
  { current }: TrainerFacts,
  { before, reasons }: MembershipCandidate,
  named: string | null,
  isNamedBy: (install: string) => boolean,
): MembershipChange['address'] {
  if (named === null || (before !== undefined && current.get(before.id) === named)) return null;
  const install = installsStanding(reasons).find(isNamedBy);
  return install === undefined ? null : { install, address: named };
}

function installsStanding(reasons: readonly Reason[]): string[] {
  return [...new Set(reasons.filter(isOurReason).map(({ install }) => install))].sort();
}

/** Reasons that stand are recorded, so that an end can later be distinguished from a change of the configuration. */
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

function toCore(row: Row<'membership'>): MembershipCore {
  const { wanted, generation, state, install, cause, removeAfter } = row;
  return { wanted: wanted, generation, state, install, cause, removeAfter };
}
