import type { LinkEvidence } from '../domain/evidence.ts';
import { areContractsRead, type Provisioning, provisioningOf } from '../domain/evidence-status.ts';
import type { MembershipVerdict } from '../domain/membership.ts';
import { explicitThenDue, type ReasonEnd, type RemovalCause, type Standing } from '../domain/standing.ts';

/** A current, former or future reason for a membership. */
export interface Reason {
  install: string;
  contractId: string;
  linkId: string;
  externalProjectId: string | null;
  /** The job of the link, if it is known. */
  jobId: string | null;
  /** When the last read began that listed the contract as active. */
  activeReadAt: string | null;
  standing: Standing;
  provisioning: Provisioning;
  /** Whether the configuration routes the link here. If not, the reason is only recorded. */
  isRouted: boolean;
}

/** A live link to a project that may take over from another link. */
export type SuccessorLink = Pick<
  LinkEvidence,
  'install' | 'linkId' | 'externalProjectId' | 'provisioningMode' | 'jobId' | 'firstSeenAt' | 'contractsReadAt'
>;

/**
 * The conclusion from all reasons for a membership. Null if no reason has ever stood.
 *
 * @param prefer chooses among the installs with a standing reason of ours
 */
export function judgeMembership(
  reasons: readonly Reason[],
  successorLinks: readonly SuccessorLink[],
  prefer: (installs: string[]) => string | undefined,
): MembershipVerdict | null {
  const install = prefer(reasons.filter(isOurReason).map((reason) => reason.install));
  if (install !== undefined) return { kind: 'wanted', install };
  const standing = reasons.filter((reason) => reason.standing.stands);
  // Nothing follows from reasons that this configuration does not route here, whether they stand or not, or from a link
  // of an unknown mode. The member stays until a reason ends.
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

/** The end of a reason that takes effect first. It takes effect later if a successor link takes over. */
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

/** Of a contract's links to one project, only the last to end counts, because it had taken over from the others. */
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

/** Ties are settled by name, so that the order of reasons does not matter. */
function isLater(a: FirstEnd, b: FirstEnd): boolean {
  return a.dueAt === b.dueAt ? a.install < b.install : a.dueAt > b.dueAt;
}

/** When a project is re-pointed or an install reconnects, one link is deleted and another one created. */
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
 * A link may take over until its contracts have been read. A link of the same job may until the contract itself has
 * been listed, because a list may be cut off without a sign.
 */
function mayTakeOver(successor: SuccessorLink, { jobId, activeReadAt }: Omit<Reason, 'standing'>): boolean {
  if (!areContractsRead(successor)) return true;
  const isSameJob = jobId !== null && jobId === successor.jobId;
  return isSameJob && !areContractsRead({ ...successor, contractsReadAt: activeReadAt });
}
