import type { MembershipRow, ReasonRow } from '../db/tables.ts';
import { deriveMembership, type MembershipCore, type Verdict } from '../domain/membership.ts';
import {
  type Candidate,
  collectCandidates,
  isTouched,
  type Known,
  type Place,
  type Rules,
  reasonKey,
} from './collect-candidates.ts';
import { type Ground, isOurs, judgeMembership } from './judge-membership.ts';
import { addressOf } from './share-place.ts';

/** A membership that the evidence makes, or makes different, or gives another reason. */
export interface MembershipChange {
  place: Place;
  before: MembershipRow | undefined;
  after: MembershipCore;
  /** Reasons that stand and are not recorded yet. */
  reasons: Reason[];
  /** The address that it is to be for from now on, and whose word that is; null where it stays. */
  address: { install: string; address: string } | null;
}

export type Reason = Omit<ReasonRow, 'membershipId'>;

/**
 * Pure: from what is known of some trainers to what has to change about their memberships. What the
 * configuration no longer leads to is never ended by that: configuration is not evidence.
 */
export function planMemberships(known: Known, rules: Rules): MembershipChange[] {
  return collectCandidates(known, rules).flatMap((candidate) => {
    const { place, before, grounds } = candidate;
    const named = nameAddress(known, candidate);
    const addressBy = (install: string) => known.addresses.get(`${install}/${place.trainerId}`);
    const isNamedBy = (install: string) => named !== null && addressBy(install) === named;
    const verdict = judgeMembership(grounds, known.heirs, (installs) =>
      preferInstall(installs, (install) => addressBy(install) !== undefined, before?.install),
    );
    if (verdict === null) return [];
    const core = before === undefined ? null : toCore(before);
    const after = deriveMembership(core, verdict, {
      hasEmail: verdict.kind === 'wanted' && named !== null,
      wasTouched: before !== undefined && isTouched(before),
    });
    const reasons = toRecord(verdict, candidate, isNamedBy);
    const address = toAddress(known, candidate, named, isNamedBy);
    const isSame = after === core && reasons.length === 0 && address === null;
    return after === null || isSame ? [] : [{ place, before, after, reasons, address }];
  });
}

/** One that knows an address, then the one it was, then the first by name. */
function preferInstall(
  installs: string[],
  isKnown: (install: string) => boolean,
  current: string | undefined,
): string | undefined {
  const known = installs.filter(isKnown);
  const candidates = (known.length > 0 ? known : installs).sort();
  return candidates.find((install) => install === current) ?? candidates[0];
}

function nameAddress({ addresses, current }: Known, { place, before, grounds }: Candidate) {
  return addressOf(
    before === undefined ? null : (current.get(before.id) ?? null),
    installsStanding(grounds).map((install) => ({
      install,
      address: addresses.get(`${install}/${place.trainerId}`) ?? null,
    })),
  );
}

function toAddress(
  { current }: Known,
  { before, grounds }: Candidate,
  named: string | null,
  isNamedBy: (install: string) => boolean,
): MembershipChange['address'] {
  if (named === null || (before !== undefined && current.get(before.id) === named)) return null;
  const install = installsStanding(grounds).find(isNamedBy);
  return install === undefined ? null : { install, address: named };
}

function installsStanding(grounds: readonly Ground[]): string[] {
  return [...new Set(grounds.filter(isOurs).map(({ install }) => install))].sort();
}

/** What stands is written down, so that an end can later be told from a new configuration. */
function toRecord(
  verdict: Verdict,
  { grounds, recorded }: Pick<Candidate, 'grounds' | 'recorded'>,
  isNamedBy: (install: string) => boolean,
): Reason[] {
  if (verdict.kind !== 'wanted') return [];
  return grounds
    .filter(isOurs)
    .map(({ install, contractId, linkId }) => ({ install, contractId, linkId, isNamed: isNamedBy(install) ? 1 : 0 }))
    .filter((reason) => !recorded.has(reasonKey(reason)));
}

function toCore(row: MembershipRow): MembershipCore {
  const { wanted, generation, state, install, cause, removeAfter } = row;
  return { wanted: wanted === 1, generation, state, install, cause, removeAfter };
}
