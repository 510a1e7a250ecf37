import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UsageObservation } from '../../adapters/adapter.ts';
import type { Context } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import { mapAtOnce } from '../../lib/at-once.ts';
import { chunksOf } from '../../lib/chunks.ts';
import { toInstant } from '../../lib/clock.ts';
import { callTool } from '../../tools/call-tool.ts';
import type { WorkScope } from './find-scopes.ts';
import { firstReadDay } from './look-back.ts';
import type { Reading } from './merge-items.ts';
import { freezeWork, mergeWork } from './merge-work.ts';
import type { ScopeMember } from './scope-member-store.ts';
import type { ScopeClaim } from './scope-store.ts';
import { createIsAddressOf } from './whose-work.ts';
import { findChangedWork, seenAt, updateWork, type WorkChange } from './work-store.ts';

/** What one reading has collected. */
export interface CollectedReading {
  /** By the tool's id of the member who did the work. */
  observations: ReadonlyMap<string, UsageObservation[]>;
  /** The tasks that the reading listed. */
  tasks: ReadonlySet<string>;
  /** What the tool cannot report at present. */
  gaps: ReadonlySet<string>;
}

export interface EndedReading extends CollectedReading {
  claim: ScopeClaim;
  workScope: WorkScope;
  /** The members as they were before the reading began. */
  members: ScopeMember[];
  beganAt: Date;
  isComplete: boolean;
  /** Whether the scope was never read before. */
  isFirst: boolean;
}

const checksAtOnce = 4;
const checkMs = 15_000;
/** Members with so many observations together: what is known of all of them is loaded at once. No member is split. */
const batchSize = 500;
/** A few: each takes several statements, and others wait for the transaction to end. */
const writtenAtOnce = 10;

/** Merges a whole reading into what is known of the members' work. */
export async function mergeReading(ctx: Context, ended: EndedReading, signal: AbortSignal): Promise<void> {
  const { claim, workScope, members, observations, isComplete } = ended;
  const seen = isComplete ? await seenAt(ctx, claim) : new Set<string>();
  const concerned = members.filter(({ memberId }) => observations.has(memberId) || seen.has(memberId));
  const missing = concerned.filter(({ memberId, isIn }) => isIn && !observations.has(memberId));
  const confirmed = new Set(
    (
      await mapAtOnce(missing, checksAtOnce, async (member) =>
        (await isStillThere(ctx, workScope, member, signal)) ? [member.memberId] : [],
      )
    ).flat(),
  );
  const observationsOf = ({ memberId }: ScopeMember) => observations.get(memberId) ?? [];
  const canLower = (member: ScopeMember) =>
    isComplete && member.isIn && (observations.has(member.memberId) || confirmed.has(member.memberId));
  const merge = createMerge(ctx, ended, { observationsOf, canLower });
  for (const batch of toBatches(concerned, (member) => observationsOf(member).length)) {
    await mergeBatch(ctx, claim, batch, merge);
    // On SQLite all of it runs in this thread, and deliveries are to be answered in between.
    await nextTurn();
  }
}

interface MemberReading {
  observationsOf(member: ScopeMember): UsageObservation[];
  canLower(member: ScopeMember): boolean;
}

function createMerge(
  ctx: Context,
  { workScope: { timeZone }, beganAt, isFirst, tasks }: EndedReading,
  { observationsOf, canLower }: MemberReading,
): WorkChange {
  const { lookbackMs, deletedTasks } = ctx.config.usage;
  const firstDay = firstReadDay(ctx);
  const toReading = (member: ScopeMember, lowers: boolean): Reading => ({
    beganAt,
    timeZone,
    firstDay,
    lowers,
    tasks: deletedTasks === 'keep' ? tasks : null,
    countsFirstTotal: !isFirst || Date.parse(member.addedAt ?? '') > beganAt.getTime() - lookbackMs,
  });
  return (member, known, hasEnded) =>
    hasEnded
      ? mergeWork(freezeWork(known), observationsOf(member), toReading(member, false))
      : mergeWork(known, observationsOf(member), toReading(member, canLower(member)));
}

async function mergeBatch(
  ctx: Context,
  claim: ScopeClaim,
  batch: readonly ScopeMember[],
  merge: WorkChange,
): Promise<void> {
  const { clock } = ctx;
  const window = { firstDay: firstReadDay(ctx), now: toInstant(clock.now()) };
  const changed = await findChangedWork(ctx, claim, batch, window, (member, known) => merge(member, known, false));
  for (const part of chunksOf(changed, writtenAtOnce)) {
    const holds = await updateWork(ctx, claim, part, window, merge);
    if (!holds) throw new AppError('unavailable', 'The reading took so long that another has begun');
    await nextTurn();
  }
}

function* toBatches(members: readonly ScopeMember[], sizeOf: (member: ScopeMember) => number): Iterable<ScopeMember[]> {
  let batch: ScopeMember[] = [];
  let size = 0;
  for (const member of members) {
    batch.push(member);
    size += 1 + sizeOf(member);
    if (size < batchSize) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Checks members that a complete reading does not list: they may have lost their account, and not their work. */
async function isStillThere(
  ctx: Context,
  { tool }: WorkScope,
  { groupId, trainerId, memberId, digests }: ScopeMember,
  signal: AbortSignal,
): Promise<boolean> {
  const { adapters, logger } = ctx;
  const person = { trainerId, memberId, email: '', displayName: null };
  try {
    const find = (of: AbortSignal) => adapters.get(tool)?.findMember(groupId, person, of);
    const found = await callTool(checkMs, signal, async (of) => await find(of));
    if (found?.id !== memberId) return false;
    return found.email === null || createIsAddressOf(ctx.box)(found.email, digests);
  } catch (error) {
    logger.warn({ err: error, tool, trainer: trainerId }, 'It is not known whether a member is still in the tool');
    return false;
  }
}
