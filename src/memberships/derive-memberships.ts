import type { Context, Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { statusOfLink } from '../domain/evidence-status.ts';
import type { MembershipCore } from '../domain/membership.ts';
import { isExplicit } from '../domain/standing.ts';
import { instantAfter } from '../lib/clock.ts';
import { retractRemovals } from './clearance-store.ts';
import { markWorkStale } from './derivation-store.ts';
import {
  addressesOfMemberships,
  endGivenAddresses,
  type GivenAddress,
  type KnownAddress,
  knownAddresses,
  setCurrentAddresses,
} from './identity-store.ts';
import { isOurReason, type Reason } from './judge-membership.ts';
import {
  type EndedProjects,
  grantsOf,
  insertMembership,
  membershipsOf,
  type Participation,
  type ProjectKey,
  participationsOf,
  reasonsOf,
  recordEndedProjects,
  recordReasons,
  successorLinksOf,
  updateMembership,
} from './membership-store.ts';
import {
  collectCandidates,
  type MembershipCandidate,
  type MembershipChange,
  planMemberships,
  reasonKey,
  type TrainerFacts,
} from './plan-memberships.ts';

export interface DerivedWork {
  /** Whether a tool must be called now. */
  isDue: boolean;
  /** Whether the brake must decide now. */
  isRemovalDue: boolean;
}

/** The evidence that a trainer is derived for. */
export interface Origin {
  /** When it was received; empty if that is unknown. */
  receivedAt: string;
}

/**
 * Derives the memberships of these trainers. Level-triggered: reads all evidence about them and writes only
 * differences.
 */
export async function deriveMemberships(
  ctx: Context,
  tx: Transaction,
  trainers: ReadonlyMap<string, Origin>,
  now: string,
): Promise<DerivedWork> {
  if (trainers.size === 0) return { isDue: false, isRemovalDue: false };
  const trainerIds = [...trainers.keys()];
  // A change of who is wanted may change whose work it is.
  await markWorkStale(
    tx,
    trainerIds.map((trainerId) => ({ trainerId, fromDay: '' })),
  );
  const facts = await loadTrainerFacts(ctx, tx, trainerIds);
  const changes = planMemberships(facts, ctx.routeLink, ctx.config.removals);
  await storeChanges(ctx, tx, changes, trainers, now);
  const hasEnded = await noteEndedProjects(ctx, tx, facts, now);
  for (const disagreement of findDisagreements(facts, changes)) {
    ctx.alerts.raise('address_disagreement', disagreement);
  }
  return {
    isDue: hasEnded || changes.some(({ after }) => isDue(after)),
    isRemovalDue: changes.some(({ after }) => after.removeAfter !== null && after.removeAfter <= now),
  };
}

/** Assignments end after a grace period, because the start of a renewal may arrive after the end before it. */
async function noteEndedProjects(
  { adapters, routeLink, config }: Context,
  tx: Transaction,
  facts: TrainerFacts,
  now: string,
): Promise<boolean> {
  const tools = new Set([...adapters].flatMap(([tool, { endAssignments }]) => (endAssignments ? [tool] : [])));
  if (tools.size === 0) return false;
  const candidates = collectCandidates(facts, routeLink, config.removals).filter(({ seat }) => tools.has(seat.tool));
  return await recordEndedProjects(tx, findEndedProjects(candidates), instantAfter(now, config.removals.graceMs));
}

/** Projects where every reason has ended explicitly, while another reason keeps the member in the group. Pure. */
function findEndedProjects(candidates: readonly MembershipCandidate[]): EndedProjects[] {
  const seats = Map.groupBy(candidates, ({ seat }) => JSON.stringify(seat));
  return [...seats.values()].flatMap((here) => {
    const reasons = here.flatMap(({ reasons: all, recorded }) =>
      all.filter((reason) => reason.standing.stands || recorded.has(reasonKey(reason))),
    );
    const byProject = Map.groupBy(reasons, ({ externalProjectId }) => externalProjectId);
    const projects = [...byProject].flatMap(([project, all]) =>
      project !== null && all.every(hasEndedExplicitly) ? [project] : [],
    );
    return here.flatMap(({ before, reasons }) =>
      before !== undefined && reasons.some(isOurReason) ? [{ membershipId: before.id, projects }] : [],
    );
  });
}

function hasEndedExplicitly({ standing }: Reason): boolean {
  return !standing.stands && standing.ends[0] !== undefined && isExplicit(standing.ends[0].cause);
}

/** Loads what planning needs to know about these trainers. Where domains are managed, other addresses are left out. */
export async function loadTrainerFacts(
  ctx: Storage & Pick<Context, 'config'>,
  tx: Transaction,
  trainerIds: string[],
): Promise<TrainerFacts> {
  const participations = await participationsOf(tx, trainerIds);
  const memberships = await membershipsOf(ctx, tx, trainerIds);
  const ids = memberships.map(({ id }) => id);
  return {
    participations,
    memberships,
    reasonRows: await reasonsOf(tx, ids),
    grants: await grantsOf(tx, [...new Set(participations.map((one) => one.install))]),
    successorLinks: await successorLinksOf(tx, goneProjects(participations)),
    addresses: await knownAddresses(ctx, tx, trainerIds, ctx.config.marketplace.managedDomains),
    ...toNamed(await addressesOfMemberships(ctx, tx, ids)),
  };
}

function toNamed(given: Map<number, GivenAddress[]>): Pick<TrainerFacts, 'current' | 'addressInstalls'> {
  const current = [...given].flatMap(([id, addresses]) => {
    const one = addresses.find(({ isCurrent }) => isCurrent);
    return one === undefined ? [] : [[id, one.address] as const];
  });
  const addressInstalls = [...given].map(
    ([id, addresses]) => [id, new Set(addresses.map(({ install }) => install))] as const,
  );
  return { current: new Map(current), addressInstalls: new Map(addressInstalls) };
}

/** Projects whose link is gone: another link may take over. */
function goneProjects(participations: Participation[]): ProjectKey[] {
  return participations.flatMap(({ install, externalProjectId, ...link }) => {
    const status = statusOfLink({ ...link, externalProjectId, absences: link.linkAbsences });
    const isGone = status === 'removed' || status === 'absent';
    return isGone && externalProjectId !== null ? [{ install, externalProjectId }] : [];
  });
}

async function storeChanges(
  ctx: Storage,
  tx: Transaction,
  changes: readonly MembershipChange[],
  trainers: ReadonlyMap<string, Origin>,
  now: string,
): Promise<void> {
  await retractRemovals(tx, changes.flatMap(returningId));
  // What can be written for all is written at once, because each statement takes about 0.1 ms.
  const [addresses, reasons]: [KnownAddress[], Row<'reason'>[]] = [[], []];
  for (const { seat, before, after, newReasons, address } of changes) {
    const unmetSince = toUnmetSince(after, trainers.get(seat.trainerId)?.receivedAt || now);
    const id =
      before?.id ?? (await insertMembership(tx, { ...seat, isOurs: false, ...toColumns(after, now), unmetSince }));
    if (before !== undefined) await updateMembership(tx, id, toUpdate(before, after, unmetSince, now));
    if (before !== undefined && after.state === 'released') await endGivenAddresses(tx, id, now);
    if (address !== null) addresses.push({ membershipId: id, trainerId: seat.trainerId, ...address });
    for (const reason of newReasons) reasons.push({ membershipId: id, recordedAt: now, ...reason });
  }
  await setCurrentAddresses(ctx, tx, addresses);
  await recordReasons(tx, reasons);
}

/** The id of a membership that is wanted again before its removal began: the brake must not count that removal. */
function returningId({ before, after }: MembershipChange): number[] {
  return before?.state === 'removing' && after.generation !== before.generation ? [before.id] : [];
}

function toUpdate(
  before: Row<'membership'>,
  after: MembershipCore,
  unmetSince: Row<'membership'>['unmetSince'],
  now: string,
): Partial<Row<'membership'>> {
  const { install, generation, state, cause, removeAfter } = after;
  const isSame =
    generation === before.generation &&
    state === before.state &&
    cause === before.cause &&
    removeAfter === before.removeAfter;
  // Only the install or the reasons have changed, so nothing is due.
  if (isSame) return { install };
  // A new attempt under the same decision keeps the time since which the trainer waits.
  const isNewDecision =
    generation !== before.generation || cause !== before.cause || removeAfter !== before.removeAfter;
  return {
    ...(before.releasedBy !== 'operator' && { releasedBy: null }),
    ...toColumns(after, now),
    ...(isNewDecision && { unmetSince }),
  };
}

/** Null if nothing has to change in the tool. */
function toUnmetSince({ state, removeAfter }: MembershipCore, receivedAt: string): string | null {
  if (state === 'pending' || state === 'waiting_email') return receivedAt;
  if (state !== 'removing') return null;
  return removeAfter !== null && removeAfter > receivedAt ? removeAfter : receivedAt;
}

function toColumns(core: MembershipCore, now: string) {
  const { generation, state, install, cause, removeAfter } = core;
  return {
    generation,
    state,
    install,
    cause,
    removeAfter,
    wanted: core.wanted,
    attempts: 0,
    nextAttemptAt: isDue(core) ? now : null,
    failure: null,
    updatedAt: now,
    // The marketplace has taken over, so Gangway no longer removes the member.
    ...(state === 'released' && { isOurs: false, releasedBy: 'marketplace' }),
  } satisfies Partial<Row<'membership'>>;
}

/** A removal that waits for its time or for the brake is not due. */
function isDue({ state, removeAfter }: MembershipCore): boolean {
  return state === 'pending' || (state === 'removing' && removeAfter === null);
}

/** Installs that know different addresses for one trainer in one tool. Each has an access of its own. */
interface Disagreement {
  tool: string;
  trainerId: string;
  /** Sorted by name. */
  installs: string[];
}

/** The disagreements in which these changes have a part. Pure. */
function findDisagreements(
  { memberships, current }: Pick<TrainerFacts, 'memberships' | 'current'>,
  changes: readonly MembershipChange[],
): Disagreement[] {
  const changed = new Set(changes.map(({ before }) => before?.id));
  const accesses = [
    ...memberships
      .filter(({ id, wanted }) => wanted && !changed.has(id))
      .map(({ id, tool, trainerId, install }) => ({
        tool,
        trainerId,
        install,
        address: current.get(id),
        isNew: false,
      })),
    ...changes
      .filter(({ after }) => after.wanted)
      .map(({ seat: { tool, trainerId }, before, after: { install }, address }) => ({
        ...{ tool, trainerId, install },
        address: address?.address ?? (before && current.get(before.id)),
        isNew: address !== null,
      })),
  ].filter(({ address }) => address !== undefined);
  const byTrainer = Map.groupBy(accesses, ({ tool, trainerId }) => JSON.stringify([tool, trainerId]));
  return [...byTrainer.values()].flatMap((its) => {
    const [first] = its;
    const installs = [...new Set(its.map(({ install }) => install))].sort();
    const addresses = new Set(its.map(({ address }) => address));
    const isNews = its.some(({ isNew }) => isNew);
    if (first === undefined || !isNews || addresses.size < 2 || installs.length < 2) return [];
    return [{ tool: first.tool, trainerId: first.trainerId, installs }];
  });
}
