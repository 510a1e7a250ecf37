import type { Context } from '../../context.ts';
import { inTransaction, rollingBack, type Transaction } from '../../db/database.ts';
import { inParts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { applyBrake } from '../../domain/brake.ts';
import { type Evidence, emptyEvidence } from '../../domain/evidence.ts';
import type { MembershipCore } from '../../domain/membership.ts';
import type { RemovalCause } from '../../domain/standing.ts';
import { mergeEvidence } from '../../evidence/evidence-store.ts';
import { toInstant } from '../../lib/clock.ts';
import { chunksOf } from '../../lib/lists.ts';
import { lockEvidence, postponeTouchedTrainers } from '../../memberships/derivation-store.ts';
import { loadTrainerFacts } from '../../memberships/derive-memberships.ts';
import { type MembershipChange, planMemberships, type Seat } from '../../memberships/plan-memberships.ts';
import { countRemovals, findUnstarted } from '../../removals/brake-store.ts';
import { canReturn } from '../../tools/accounts.ts';
import { previewDrift } from '../drift/judge-group.ts';
import { readInSteps } from '../read/evidence-of-install.ts';
import { knownOfInstall } from '../read/install-state-store.ts';
import { findSource } from '../read/read-install.ts';
import {
  contractsOfTrainers,
  findMembershipsById,
  listFailedMemberships,
  listHeldMemberships,
  listPostponedTrainers,
  listUnderway,
} from './preview-store.ts';

/**
 * What reconciling would do about one membership. `waiting`: it would be added if an address were
 * known; `held`: the brake would hold its removal; `later`: it would be removed after `at`, unless
 * new evidence comes before.
 */
export interface PreviewedChange extends Seat {
  change: 'add' | 'waiting' | 'remove' | 'held' | 'later';
  cause: RemovalCause | null;
  at: string | null;
}

/** What a read of an install would lead to. */
export interface PreviewedInstall {
  changes: PreviewedChange[];
  /** How many removals would wait for an operator, including those that wait already. */
  held: number;
  /** How many memberships a tool has refused and would refuse again. */
  failed: number;
}

/** Trainers for each transaction, so that no other transaction waits long. */
const chunkSize = 50;

/**
 * Reads an install and lists its groups, and says what a run would do. It changes nothing: the merge
 * is rolled back, and tools are only asked for their lists.
 *
 * @throws AppError if the install could not be read
 */
export async function previewInstall(ctx: Context, install: string, signal: AbortSignal): Promise<PreviewedInstall> {
  const known = await knownOfInstall(ctx, install);
  const beganAt = toInstant(ctx.clock.now());
  const reading = readInSteps(findSource(ctx, install), install, known, beganAt, signal);
  const steps = await Array.fromAsync(reading, ({ evidence }) => evidence);
  const trainerIds = await findTouched(ctx, steps);
  const changes: MembershipChange[] = [];
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    changes.push(...(await plan(ctx, install, steps, chunk)));
  }
  const ahead = [...changes.map(toAhead), ...(await underwayBeside(ctx, install, changes))];
  const drifted = await driftBeside(ctx, install, ahead, signal);
  return await weigh(
    ctx,
    install,
    [...ahead, ...drifted].filter(({ core }) => core.install === install),
  );
}

/** The trainers whose evidence would change. */
async function findTouched(ctx: Context, steps: Evidence[]): Promise<string[]> {
  const touched = new Set<string>();
  for (const step of steps) {
    const trainerIds = await lookAhead(ctx, async (tx) => {
      const changed = await mergeEvidence(ctx, tx, step);
      await postponeTouchedTrainers(tx, changed, '');
      return await listPostponedTrainers(tx);
    });
    for (const trainerId of trainerIds) touched.add(trainerId);
  }
  return [...touched].sort();
}

/** How the memberships of some trainers would change with the evidence of the read. */
async function plan(
  ctx: Context,
  install: string,
  steps: Evidence[],
  trainerIds: string[],
): Promise<MembershipChange[]> {
  return await lookAhead(ctx, async (tx) => {
    const contractIds = await contractsOfTrainers(tx, install, trainerIds);
    await mergeEvidence(ctx, tx, evidenceAbout(steps, trainerIds, contractIds));
    return planMemberships(await loadTrainerFacts(ctx, tx, trainerIds), ctx.routeLink, ctx.config.removals);
  });
}

async function lookAhead<T>(ctx: Context, look: (tx: Transaction) => Promise<T>): Promise<T> {
  return await rollingBack(ctx.database, async (tx) => {
    await lockEvidence(ctx, tx);
    return await look(tx);
  });
}

interface Ahead {
  seat: Seat;
  before: Row<'membership'> | undefined;
  core: MembershipCore;
  /** Whether it would be tried anew, even if a tool refused it before. */
  isAnew: boolean;
}

function toAhead({ seat, before, after }: MembershipChange): Ahead {
  return { seat, before, core: after, isAnew: true };
}

/** What is under way already and would not change by the read. */
async function underwayBeside(ctx: Context, install: string, changes: MembershipChange[]): Promise<Ahead[]> {
  const changed = new Set(changes.map(({ before }) => before?.id));
  const rows = await listUnderway(ctx, install);
  return rows.filter(({ id }) => !changed.has(id)).map((row) => toStanding(row));
}

function toStanding(row: Row<'membership'>, changed: Partial<MembershipCore> = {}): Ahead {
  return { seat: row, before: row, core: { ...row, ...changed }, isAnew: false };
}

/** Drift of memberships that would not change otherwise. */
async function driftBeside(
  ctx: Context,
  install: string,
  ahead: readonly Ahead[],
  signal: AbortSignal,
): Promise<Ahead[]> {
  const { missing, foundAgain } = await previewDrift(ctx, install, signal);
  const others = new Set(ahead.map(({ before }) => before?.id));
  const ids = [...missing, ...foundAgain.keys()].filter((id) => !others.has(id));
  const rows: Row<'membership'>[] = [];
  for (const part of inParts(ids)) rows.push(...(await findMembershipsById(ctx, part)));
  return rows.map((row) => {
    const removeAfter = foundAgain.get(row.id);
    if (removeAfter === undefined) {
      return toStanding(row, { state: 'pending' });
    }
    const again = { state: 'removing', cause: 'found_again', removeAfter } as const;
    const generation = row.generation + 1;
    return toStanding({ ...row, isOurs: true }, { ...again, generation });
  });
}

/** Asks the brake as a run would. */
async function weigh(ctx: Context, install: string, ahead: Ahead[]): Promise<PreviewedInstall> {
  const { database, config, clock } = ctx;
  const now = clock.now();
  const counted = await inTransaction(database, (tx) => countRemovals(tx, install, now));
  const changed = new Map(ahead.map(({ before, core }) => [before?.id, core]));
  const waiting = (await listHeldMemberships(ctx, install)).filter(
    ({ id, generation }) => (changed.get(id)?.generation ?? generation) === generation,
  );
  const anew = new Set(ahead.flatMap(({ before, isAnew }) => (isAnew ? [before?.id] : [])));
  const failed = (await listFailedMemberships(ctx, install)).filter(({ id }) => !anew.has(id));
  const due = ahead.flatMap(({ seat, before, core: { cause, generation, removeAfter } }) => {
    if (before === undefined || cause === null) return [];
    if (removeAfter === null || removeAfter > toInstant(now)) return [];
    const removal = { membershipId: before.id, generation, cause, isOurs: before.isOurs };
    return [{ ...removal, canReturn: canReturn(ctx, seat.tool) }];
  });
  const counts = { ...counted, waiting: waiting.length };
  const { held, exceeded } = applyBrake(due, counts, config.removals);
  // Removals that were cleared before but are not begun are held too.
  const takenBack =
    held.length === 0 ? [] : await inTransaction(database, (tx) => findUnstarted(tx, install, exceeded, now));
  const heldIds = new Set([...held, ...takenBack].map(({ membershipId }) => membershipId));
  const changes = ahead.flatMap((one) => toPreviewed(one, heldIds, toInstant(now)));
  return {
    changes: changes.sort(bySeat),
    held: waiting.length + changes.filter(({ change }) => change === 'held').length,
    failed: failed.length,
  };
}

function toPreviewed(one: Ahead, heldIds: ReadonlySet<number>, now: string): PreviewedChange[] {
  const { seat, before, core } = one;
  const isHeld = before !== undefined && heldIds.has(before.id);
  const change = changeOf(one, isHeld, now);
  if (change === null) return [];
  const { tool, groupId, trainerId } = seat;
  const at = change === 'later' ? core.removeAfter : null;
  return [{ tool, groupId, trainerId, change, cause: core.cause, at }];
}

function changeOf(
  { before, core: { state, removeAfter } }: Ahead,
  isHeld: boolean,
  now: string,
): PreviewedChange['change'] | null {
  if (state === 'pending') return 'add';
  if (state === 'waiting_email') return before?.state === state ? null : 'waiting';
  if (state !== 'removing') return null;
  if (removeAfter !== null && removeAfter > now) return 'later';
  return isHeld ? 'held' : 'remove';
}

function bySeat(a: Seat, b: Seat): number {
  const seatKey = ({ tool, groupId, trainerId }: Seat) => JSON.stringify([tool, groupId, trainerId]);
  return seatKey(a) < seatKey(b) ? -1 : 1;
}

/** The part of a read that decides about some trainers: these contracts, and the others they are on. */
function evidenceAbout(
  steps: readonly Evidence[],
  trainerIds: readonly string[],
  contractIds: readonly string[],
): Evidence {
  const trainers = new Set(trainerIds);
  const isAbout = ({ trainerId }: { trainerId: string }) => trainers.has(trainerId);
  const participations = steps.flatMap((step) => step.participations.filter(isAbout));
  const contracts = new Set([...contractIds, ...participations.map((one) => one.contractId)]);
  const isOn = ({ contractId }: { contractId: string }) => contracts.has(contractId);
  return {
    ...emptyEvidence(),
    participations,
    grants: steps.flatMap((step) => step.grants),
    links: steps.flatMap((step) => step.links),
    contracts: steps.flatMap((step) => step.contracts.filter(isOn)),
    pairs: steps.flatMap((step) => step.pairs.filter(isOn)),
    people: steps.flatMap((step) => step.people.filter(isAbout)),
  };
}
