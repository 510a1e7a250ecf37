import type { Transaction } from '../db/database.ts';
import type { MembershipRow } from '../db/tables.ts';
import { statusOfLink } from '../domain/evidence-status.ts';
import type { MembershipCore } from '../domain/membership.ts';
import type { MembershipStore, Participation, ProjectKey } from './membership-store.ts';
import {
  type Known,
  type MembershipChange,
  planMemberships,
  type Rules,
} from './plan-memberships.ts';

export interface DeriveDeps {
  memberships: MembershipStore;
  rules: Rules;
  /** Only addresses of these domains are ever used, where there are any. */
  managedDomains: readonly string[];
}

export interface Derived {
  /** Whether there is now something to be done in a tool. */
  isDue: boolean;
  /** Whether there is now something for the brake to look at. */
  isRemovalDue: boolean;
}

/**
 * Brings the memberships of these trainers in line with the evidence. Level-triggered: it reads all
 * that is known of them, and writes only what differs.
 */
export async function deriveMemberships(
  deps: DeriveDeps,
  tx: Transaction,
  trainerIds: string[],
  now: string,
): Promise<Derived> {
  if (trainerIds.length === 0) return { isDue: false, isRemovalDue: false };
  const known = await loadKnown(deps, tx, trainerIds);
  const changes = planMemberships(known, deps.rules);
  await store(deps.memberships, tx, changes, now);
  return {
    isDue: changes.some(({ after }) => isDue(after)),
    isRemovalDue: changes.some(
      ({ after }) => after.removeAfter !== null && after.removeAfter <= now,
    ),
  };
}

/** All that is known of some trainers, as planning needs it. */
export async function loadKnown(
  { memberships, managedDomains }: Omit<DeriveDeps, 'rules'>,
  tx: Transaction,
  trainerIds: string[],
): Promise<Known> {
  const participations = await memberships.participationsOf(tx, trainerIds);
  const rows = await memberships.membershipsOf(tx, trainerIds);
  const ids = rows.map((row) => row.id);
  return {
    ...{ participations, memberships: rows },
    reasons: await memberships.reasonsOf(tx, ids),
    grants: await memberships.grantsOf(tx, [...new Set(participations.map((one) => one.install))]),
    heirs: await memberships.heirsOf(tx, goneProjects(participations)),
    addresses: await memberships.knownAddresses(tx, trainerIds, managedDomains),
  };
}

/** Where another link may take over. */
function goneProjects(participations: Participation[]): ProjectKey[] {
  return participations.flatMap(({ install, externalProjectId, ...link }) => {
    const status = statusOfLink({ ...link, externalProjectId, absences: link.linkAbsences });
    const isGone = status === 'removed' || status === 'absent';
    return isGone && externalProjectId !== null ? [{ install, externalProjectId }] : [];
  });
}

async function store(
  memberships: MembershipStore,
  tx: Transaction,
  changes: MembershipChange[],
  now: string,
): Promise<void> {
  const isNew = (change: MembershipChange) => change.before === undefined;
  const added = changes.filter(isNew);
  const ids = await memberships.insert(
    tx,
    added.map(({ place, after }) => ({ ...place, isOurs: 0, ...toColumns(after, now) })),
  );
  const changed = changes.filter((change) => !isNew(change));
  await memberships.retractRemovals(tx, changed.flatMap(isReturning));
  for (const { before, after } of changed) {
    if (before !== undefined) await memberships.update(tx, before.id, toUpdate(before, after, now));
  }
  await memberships.recordReasons(tx, [
    ...added.flatMap(({ reasons }, index) => withId(reasons, ids[index])),
    ...changed.flatMap(({ reasons, before }) => withId(reasons, before?.id)),
  ]);
}

/** Wanted again before anything was done: the brake need not count it. */
function isReturning({ before, after }: MembershipChange): number[] {
  return before?.state === 'removing' && after.generation !== before.generation ? [before.id] : [];
}

function withId(reasons: MembershipChange['reasons'], membershipId: number | undefined) {
  return membershipId === undefined ? [] : reasons.map((reason) => ({ membershipId, ...reason }));
}

function toUpdate(before: MembershipRow, after: MembershipCore, now: string) {
  const { install, generation, state, cause, removeAfter } = after;
  const isSame =
    generation === before.generation &&
    state === before.state &&
    cause === before.cause &&
    removeAfter === before.removeAfter;
  // Only whose it is has changed, or what else is a reason: nothing has to be done for that.
  return isSame ? { install } : toColumns(after, now);
}

function toColumns(core: MembershipCore, now: string) {
  const { generation, state, install, cause, removeAfter } = core;
  return {
    ...{ generation, state, install, cause, removeAfter },
    wanted: core.wanted ? 1 : 0,
    attempts: 0,
    nextAttemptAt: isDue(core) ? now : null,
    failure: null,
    updatedAt: now,
    // Whoever the marketplace has taken over is not ours to remove.
    ...(state === 'released' && { isOurs: 0 }),
  } satisfies Partial<MembershipRow>;
}

/** A removal that waits for its time or for the brake is not due yet. */
function isDue({ state, removeAfter }: MembershipCore): boolean {
  return state === 'pending' || (state === 'removing' && removeAfter === null);
}
