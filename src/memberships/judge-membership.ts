import type { LinkEvidence } from '../domain/evidence.ts';
import { areContractsRead, type Provisioning, provisioningOf } from '../domain/evidence-status.ts';
import type { MembershipVerdict } from '../domain/membership.ts';
import { explicitThenDue, type ReasonEnd, type RemovalCause, type Standing } from '../domain/standing.ts';

/** One reason that is, was or will be for a membership, and how it stands. */
export interface Reason {
  install: string;
  contractId: string;
  linkId: string;
  externalProjectId: string | null;
  /** Of the link, as far as it is known. */
  jobId: string | null;
  /** When the latest read that listed the contract active began. */
  activeReadAt: string | null;
  standing: Standing;
  /** Only where it is ours it is a reason of ours. */
  provisioning: Provisioning;
  /** Whether the configuration leads here from its link; if not, only what was recorded does. */
  isRouted: boolean;
}

/** A live link to a project, that may take over from another. */
export type SuccessorLink = Pick<
  LinkEvidence,
  'install' | 'linkId' | 'externalProjectId' | 'provisioningMode' | 'jobId' | 'firstSeenAt' | 'contractsReadAt'
>;

/**
 * What all reasons for a membership say together. Null where none of them has ever stood, so that
 * nothing follows from them.
 *
 * @param prefer orders the installs whose reasons stand, the best first
 */
export function judgeMembership(
  reasons: readonly Reason[],
  successorLinks: readonly SuccessorLink[],
  prefer: (installs: string[]) => string | undefined,
): MembershipVerdict | null {
  const install = prefer(reasons.filter(isOurReason).map((reason) => reason.install));
  if (install !== undefined) return { kind: 'wanted', install };
  const standing = reasons.filter((reason) => reason.standing.stands);
  // Neither what stands nor what ended elsewhere is for this configuration to judge; nor is, by a
  // mode that nobody knows, whether somebody is to be here: who is in stays until a reason falls.
  const isOrphaned = standing.some(({ provisioning }) => provisioning !== 'of_marketplace');
  if (isOrphaned || !reasons.some(({ isRouted }) => isRouted)) return { kind: 'orphaned' };
  return standing.length > 0 ? { kind: 'managed' } : judgeEnded(reasons, successorLinks);
}

/** Whether it stands, and is for us to see to. */
export function isOurReason({ standing, isRouted, provisioning }: Reason): boolean {
  return standing.stands && isRouted && provisioning === 'ours';
}

/** Access falls with the last reason. */
function judgeEnded(reasons: readonly Reason[], successorLinks: readonly SuccessorLink[]): MembershipVerdict | null {
  const all = reasons.flatMap((reason) => findFirstEnd(reason, successorLinks) ?? []);
  const ends = all.filter((end) => !all.some((other) => tookOver(other, end)));
  if (ends.some(({ isManaged }) => isManaged)) return { kind: 'managed' };
  const [first, ...others] = ends;
  if (first === undefined) return null;
  const { install, cause, dueAt: removeAfter } = others.reduce((a, b) => (isLater(b, a) ? b : a), first);
  return { kind: 'unwanted', install, cause, removeAfter };
}

interface FirstEnd
  extends Pick<ReasonEnd, 'cause' | 'since' | 'dueAt'>,
    Pick<Reason, 'install' | 'contractId' | 'externalProjectId'> {
  /** Whether the marketplace itself is about to take over. */
  isManaged: boolean | undefined;
}

/** How a reason fell, of all ends the one that acts first. What a link takes over acts later. */
function findFirstEnd({ standing, ...reason }: Reason, successorLinks: readonly SuccessorLink[]): FirstEnd | undefined {
  if (standing.stands) return undefined;
  const { install, contractId, externalProjectId } = reason;
  const ends = standing.ends.map(({ cause, since, dueAt, dueWithSuccessorAt }): FirstEnd => {
    const successor = findSuccessorLink(reason, cause, successorLinks);
    const isManaged = successor && provisioningOf(successor.provisioningMode) === 'of_marketplace';
    return {
      install,
      contractId,
      externalProjectId,
      cause,
      since,
      isManaged,
      dueAt: successor === undefined ? dueAt : dueWithSuccessorAt,
    };
  });
  return ends.sort(explicitThenDue)[0];
}

/**
 * Of the links that a contract had to one project, the one that was gone last counts: it had taken
 * over from those before, for which nobody has to wait any longer.
 */
function tookOver(other: FirstEnd, end: FirstEnd): boolean {
  return (
    isLinkCause(other.cause) &&
    isLinkCause(end.cause) &&
    other.install === end.install &&
    other.contractId === end.contractId &&
    other.externalProjectId === end.externalProjectId &&
    other.since > end.since
  );
}

function isLinkCause(cause: RemovalCause): boolean {
  return cause === 'link_removed' || cause === 'link_absent';
}

/** Ties are settled by name, so that every instance and every order comes to the same. */
function isLater(a: FirstEnd, b: FirstEnd): boolean {
  return a.dueAt === b.dueAt ? a.install < b.install : a.dueAt > b.dueAt;
}

/** Re-pointing a project and reconnecting an install delete one link and create another. */
function findSuccessorLink(
  reason: Omit<Reason, 'standing'>,
  cause: RemovalCause,
  successorLinks: readonly SuccessorLink[],
): SuccessorLink | undefined {
  if (!isLinkCause(cause)) return undefined;
  return successorLinks.find(
    (successor) =>
      successor.install === reason.install &&
      successor.externalProjectId === reason.externalProjectId &&
      successor.linkId !== reason.linkId &&
      mayTakeOver(successor, reason),
  );
}

/**
 * Until its contracts were read; and where it is of the same job, until the contract was listed
 * itself: a list may be cut off without a sign.
 */
function mayTakeOver(successor: SuccessorLink, { jobId, activeReadAt }: Omit<Reason, 'standing'>): boolean {
  if (!areContractsRead(successor)) return true;
  const isSameJob = jobId !== null && jobId === successor.jobId;
  return isSameJob && !areContractsRead({ ...successor, contractsReadAt: activeReadAt });
}
