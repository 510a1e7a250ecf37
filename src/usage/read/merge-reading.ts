import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UsageObservation } from '../../adapters/adapter.ts';
import type { Context } from '../../context.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import { toInstant } from '../../lib/clock.ts';
import { chunksOf, mapAtOnce } from '../../lib/lists.ts';
import { callTool } from '../../tools/call-tool.ts';
import {
  findChangedWork,
  listOldItems,
  type ReadMember,
  seenAt,
  updateWork,
  type WorkChange,
} from './change-work-store.ts';
import { firstOpenDay, firstReadDay, reportTimeOf } from './look-back.ts';
import { countsOf, type Hire } from './merge-items.ts';
import { freezeWork, mergeWork } from './merge-work.ts';
import type { ScopeMember } from './scope-member-store.ts';
import type { ReadScope, WorkScope } from './scope-store.ts';
import { loadHires, rememberTotals } from './total-store.ts';

export interface CollectedReading {
  /** By the tool's id of the member. */
  observations: ReadonlyMap<string, UsageObservation[]>;
  /** The tasks that the reading listed. */
  tasks: ReadonlySet<string>;
  /** Tasks of which it listed all work, however old. */
  wholeTasks: ReadonlySet<string>;
  /** What the tool cannot report at present. */
  gaps: ReadonlySet<string>;
}

export interface EndedReading extends CollectedReading {
  reading: ReadScope;
  workScope: WorkScope;
  /** The members before the reading began. */
  members: ScopeMember[];
  beganAt: Date;
  isComplete: boolean;
}

const checksAtOnce = 4;
const checkMs = 15_000;
/** Members with so many observations together are loaded at once. */
const batchSize = 500;
/** Keeps a transaction short: each member takes several statements. */
const writtenAtOnce = 10;

export async function mergeReading(ctx: Context, ended: EndedReading, signal: AbortSignal): Promise<void> {
  const { reading, workScope, members, observations, isComplete } = ended;
  const seen = isComplete ? await seenAt(ctx, reading) : new Set<string>();
  const concerned = members.filter(({ memberId }) => observations.has(memberId) || seen.has(memberId));
  const missing = concerned.filter(({ memberId, isIn }) => isIn && !observations.has(memberId));
  const absent = await mapAtOnce(missing, checksAtOnce, async (member) =>
    (await isStillThere(ctx, workScope, member, signal)) ? [] : [member],
  );
  const doubted = new Set(absent.flat());
  await rememberStrangers(ctx, ended);
  const read = concerned.map((member): ReadMember => {
    const canLower = isComplete && member.isIn && !doubted.has(member);
    return { ...member, observations: observations.get(member.memberId) ?? [], canLower, gone: new Set() };
  });
  for (const batch of toBatches(read)) {
    await mergeBatch(ctx, ended, isComplete ? await findGone(ctx, ended, batch) : batch);
    // SQLite runs in this thread, and deliveries have to be answered in between.
    await nextTurn();
  }
}

/** Finds old pieces that are missing although the reading lists all work of their tasks. */
async function findGone(
  ctx: Context,
  { reading, wholeTasks }: EndedReading,
  batch: readonly ReadMember[],
): Promise<readonly ReadMember[]> {
  if (wholeTasks.size === 0) return batch;
  const ids = batch.map(({ memberId }) => memberId);
  const old = await listOldItems(ctx, reading, ids, firstReadDay(ctx));
  return batch.map((member) => {
    const listed = new Set(member.observations.map((one) => (one.of === 'item' ? one.itemId : '')));
    const missing = (old.get(member.memberId) ?? []).filter(
      ({ itemId, taskId }) => wholeTasks.has(taskId) && !listed.has(itemId),
    );
    return { ...member, gone: new Set(missing.map(({ itemId }) => itemId)) };
  });
}

/** Remembers totals of accounts that belong to no trainer. */
async function rememberStrangers(
  ctx: Context,
  { reading, members, observations, beganAt }: EndedReading,
): Promise<void> {
  const known = new Set(members.map(({ memberId }) => memberId));
  const at = toInstant(beganAt);
  const totals = [...observations].flatMap(([memberId, of]) => {
    const total = known.has(memberId) ? undefined : of.findLast((one) => one.of === 'total');
    return total === undefined ? [] : [[memberId, { at, counts: countsOf(total) }] as const];
  });
  await rememberTotals(ctx, reading, new Map(totals));
}

const unknownHire: Hire = { startsAt: null, hasNewAccount: false };

function createMerge(
  ctx: Context,
  { workScope: { timeZone }, beganAt, tasks }: EndedReading,
  hires: ReadonlyMap<number, Hire> = new Map(),
): WorkChange {
  const reading = {
    beganAt,
    timeZone,
    firstDay: firstReadDay(ctx),
    firstOpenDay: firstOpenDay(reportTimeOf(ctx)),
    tasks: ctx.config.usage.deletedTasks === 'keep' ? tasks : null,
  };
  return ({ observations, canLower, gone, membershipId }, known, hasEnded) =>
    mergeWork(hasEnded ? freezeWork(known) : known, observations, {
      ...reading,
      lowers: canLower && !hasEnded,
      gone,
      hire: hires.get(membershipId) ?? unknownHire,
    });
}

async function mergeBatch(ctx: Context, ended: EndedReading, batch: readonly ReadMember[]): Promise<void> {
  const { reading, workScope } = ended;
  const time = { firstDay: firstReadDay(ctx), now: toInstant(ctx.clock.now()) };
  const found = await findChangedWork(ctx.database.kysely, reading, batch, time, createMerge(ctx, ended));
  const changed = found.map(({ member }) => member);
  const withTotal = changed.filter(({ observations }) => observations.some((one) => one.of === 'total'));
  const merge = createMerge(ctx, ended, await loadHires(ctx, workScope, withTotal));
  for (const part of chunksOf(changed, writtenAtOnce)) {
    await updateWork(ctx, reading, part, time, merge);
    await nextTurn();
  }
}

function* toBatches(members: readonly ReadMember[]): Iterable<ReadMember[]> {
  let batch: ReadMember[] = [];
  let size = 0;
  for (const member of members) {
    batch.push(member);
    size += 1 + member.observations.length;
    if (size < batchSize) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Whether a member that a complete reading does not list still has the account. If not, their work stays counted. */
async function isStillThere(
  ctx: Context,
  { tool }: WorkScope,
  { groupId, trainerId, memberId, digests }: ScopeMember,
  signal: AbortSignal,
): Promise<boolean> {
  const { adapters, logger } = ctx;
  const person = { trainerId, memberId, email: '', displayName: null };
  try {
    const found = await callTool(checkMs, signal, async (of) => adapters.get(tool)?.findMember(groupId, person, of));
    if (found?.id !== memberId) return false;
    return found.email === null || isAddressOf(ctx.box, found.email, digests);
  } catch (error) {
    logger.warn({ err: error, tool, trainer: trainerId }, 'Could not check whether a member is still in the tool');
    return false;
  }
}

/**
 * Pure: finds whose work it is. Tools give ids out again, so the id must show an address that the trainer has or had. If
 * the tool shows no address, the id alone decides.
 *
 * @returns `members`: those whose account can only be one trainer's; `strays`: those whose id shows another address
 */
export function assignWork(
  all: readonly ScopeMember[],
  observations: ReadonlyMap<string, readonly UsageObservation[]>,
  box: SecretBox,
): { members: ScopeMember[]; strays: ScopeMember[] } {
  const byId = Map.groupBy(all, ({ memberId }) => memberId);
  const strays: ScopeMember[] = [];
  const members = [...byId].flatMap(([memberId, known]) => {
    const email = observations.get(memberId)?.findLast((one) => one.email != null)?.email;
    const isTheirs = ({ digests }: ScopeMember) => email == null || isAddressOf(box, email, digests);
    const theirs = known.filter(isTheirs);
    strays.push(...known.filter((one) => one.isIn && !isTheirs(one)));
    return pickOne(theirs);
  });
  return { members, strays };
}

/** Empty if several trainers have the account. */
function pickOne(members: readonly ScopeMember[]): ScopeMember[] {
  const inside = members.filter(({ isIn }) => isIn);
  const candidates = inside.length > 0 ? inside : members;
  const [first] = candidates;
  if (first === undefined || trainersOf(candidates) > 1) return [];
  return [{ ...first, isShared: trainersOf(members) > 1 }];
}

function trainersOf(members: readonly ScopeMember[]): number {
  return new Set(members.map(({ trainerId }) => trainerId)).size;
}

function isAddressOf({ digest }: SecretBox, email: string, digests: readonly string[]): boolean {
  return digests.includes(digest(email.toLowerCase()));
}
