import type { LinkEvidence } from '../domain/evidence.ts';
import { areContractsRead, type Provisioning, provisioningOf } from '../domain/evidence-status.ts';
import type { MembershipVerdict } from '../domain/membership.ts';
import { explicitThenDue, type ReasonEnd, type RemovalCause, type Standing } from '../domain/standing.ts';

/** A reason that is, was or will be for a membership, and whether it stands. */
export interface Reason {
  install: string;
  contractId: string;
  linkId: string;
  externalProjectId: string | null;
  /** The job of the link, as far as it is known. */
  jobId: string | null;
  /** When the latest read that listed the contract active began. */
  activeReadAt: string | null;
  standing: Standing;
  /** The reason counts for us only if we provision the link. */
  provisioning: Provisioning;
  /** Whether the configuration routes the link here. If not, only the recorded reason leads here. */
  isRouted: boolean;
}

/** A live link to a project that may take over from another link. */
export type SuccessorLink = Pick<
  LinkEvidence,
  'install' | 'linkId' | 'externalProjectId' | 'provisioningMode' | 'jobId' | 'firstSeenAt' | 'contractsReadAt'
>;

/**
 * The conclusion from all reasons for a membership. Null if no reason has ever stood, so that nothing follows.
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
  // This configuration must not judge reasons that it does not route here, whether they stand or have ended. Nor can it
  // judge a link of an unknown mode. The member stays until a reason ends.
  const isOrphaned = standing.some(({ provisioning }) => provisioning !== 'of_marketplace');
  if (isOrphaned || !reasons.some(({ isRouted }) => isRouted)) return { kind: 'orphaned' };
  return standing.length > 0 ? { kind: 'managed' } : judgeEnded(reasons, successorLinks);
}

/** Whether the reason stands and we provision its link. */
export function isOurReason({ standing, isRouted, provisioning }: Reason): boolean {
  return standing.stands && isRouted && provisioning === 'ours';
}

/** Access ends with the last reason. */
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

/** The end of a reason that acts first. If a successor link takes over, the end acts later. */
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
 * Of the links that a contract had to one project, only the one that ended last counts. It had taken over from the
 * links before it, so no removal waits for those any longer.
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

/** Ties are settled by name, so that every instance decides alike in any order. */
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
 * A link may take over until its contracts were read. If it belongs to the same job, it may until the contract itself
 * was listed, because a list may be cut off without a sign.
 */
function mayTakeOver(successor: SuccessorLink, { jobId, activeReadAt }: Omit<Reason, 'standing'>): boolean {
  if (!areContractsRead(successor)) return true;
  const isSameJob = jobId !== null && jobId === successor.jobId;
  return isSameJob && !areContractsRead({ ...successor, contractsReadAt: activeReadAt });
}
