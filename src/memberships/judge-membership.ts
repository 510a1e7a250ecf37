import type { LinkEvidence } from '../domain/evidence.ts';
import { areContractsRead, type Provisioning, provisioningOf } from '../domain/evidence-status.ts';
import type { Verdict } from '../domain/membership.ts';
import { byActing, type Fall, type RemovalCause, type Standing } from '../domain/standing.ts';

/** One reason that is, was or will be for a membership, and how it stands. */
export interface Ground {
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
export type Heir = Pick<
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
  grounds: readonly Ground[],
  heirs: readonly Heir[],
  prefer: (installs: string[]) => string | undefined,
): Verdict | null {
  const install = prefer(grounds.filter(isOurs).map((ground) => ground.install));
  if (install !== undefined) return { kind: 'wanted', install };
  const standing = grounds.filter((ground) => ground.standing.stands);
  // Neither what stands nor what ended elsewhere is for this configuration to judge; nor is, by a
  // mode that nobody knows, whether somebody is to be here: who is in stays until a reason falls.
  const isOrphaned = standing.some(({ provisioning }) => provisioning !== 'of_marketplace');
  if (isOrphaned || !grounds.some(({ isRouted }) => isRouted)) return { kind: 'orphaned' };
  return standing.length > 0 ? { kind: 'managed' } : judgeFallen(grounds, heirs);
}

/** Whether it stands, and is for us to see to. */
export function isOurs({ standing, isRouted, provisioning }: Ground): boolean {
  return standing.stands && isRouted && provisioning === 'ours';
}

/** Access falls with the last reason. */
function judgeFallen(grounds: readonly Ground[], heirs: readonly Heir[]): Verdict | null {
  const all = grounds.flatMap((ground) => findWay(ground, heirs) ?? []);
  const ways = all.filter((way) => !all.some((other) => tookOver(other, way)));
  if (ways.some(({ isManaged }) => isManaged)) return { kind: 'managed' };
  const [first, ...others] = ways;
  if (first === undefined) return null;
  const { install, cause, dueAt: removeAfter } = others.reduce((a, b) => (isLater(b, a) ? b : a), first);
  return { kind: 'unwanted', install, cause, removeAfter };
}

interface Way
  extends Pick<Fall, 'cause' | 'since' | 'dueAt'>,
    Pick<Ground, 'install' | 'contractId' | 'externalProjectId'> {
  /** Whether the marketplace itself is about to take over. */
  isManaged: boolean | undefined;
}

/** How a reason fell, of all ways the one that acts first. What a link takes over acts later. */
function findWay({ standing, ...ground }: Ground, heirs: readonly Heir[]): Way | undefined {
  if (standing.stands) return undefined;
  const { install, contractId, externalProjectId } = ground;
  const ways = standing.falls.map(({ cause, since, dueAt, dueWithHeirAt }): Way => {
    const heir = findHeir(ground, cause, heirs);
    const isManaged = heir && provisioningOf(heir.provisioningMode) === 'of_marketplace';
    return {
      install,
      contractId,
      externalProjectId,
      cause,
      since,
      isManaged,
      dueAt: heir === undefined ? dueAt : dueWithHeirAt,
    };
  });
  return ways.sort(byActing)[0];
}

/**
 * Of the links that a contract had to one project, the one that was gone last counts: it had taken
 * over from those before, for which nobody has to wait any longer.
 */
function tookOver(other: Way, way: Way): boolean {
  return (
    isOfLink(other.cause) &&
    isOfLink(way.cause) &&
    other.install === way.install &&
    other.contractId === way.contractId &&
    other.externalProjectId === way.externalProjectId &&
    other.since > way.since
  );
}

function isOfLink(cause: RemovalCause): boolean {
  return cause === 'link_removed' || cause === 'link_absent';
}

/** Ties are settled by name, so that every instance and every order comes to the same. */
function isLater(a: Way, b: Way): boolean {
  return a.dueAt === b.dueAt ? a.install < b.install : a.dueAt > b.dueAt;
}

/** Re-pointing a project and reconnecting an install delete one link and create another. */
function findHeir(ground: Omit<Ground, 'standing'>, cause: RemovalCause, heirs: readonly Heir[]): Heir | undefined {
  if (!isOfLink(cause)) return undefined;
  return heirs.find(
    (heir) =>
      heir.install === ground.install &&
      heir.externalProjectId === ground.externalProjectId &&
      heir.linkId !== ground.linkId &&
      mayTakeOver(heir, ground),
  );
}

/**
 * Until its contracts were read; and where it is of the same job, until the contract was listed
 * itself: a list may be cut off without a sign.
 */
function mayTakeOver(heir: Heir, { jobId, activeReadAt }: Omit<Ground, 'standing'>): boolean {
  if (!areContractsRead(heir)) return true;
  const isSameJob = jobId !== null && jobId === heir.jobId;
  return isSameJob && !areContractsRead({ ...heir, contractsReadAt: activeReadAt });
}
