import type { Member, UsageNote, UsageObservation, UsageRequest } from '../../adapters/adapter.ts';
import type { Context } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { AppError, concernsAll, toAppError } from '../../domain/errors.ts';
import { type Job, type JobHold, type JobKind, soleJob } from '../../jobs/job.ts';
import { listDueTurns } from '../../jobs/job-store.ts';
import { runNextJob } from '../../jobs/job-worker.ts';
import { instantAfter, minuteMs, toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import { remembered } from '../../lib/remembered.ts';
import { turnsOf } from '../../lib/turns.ts';
import { lookAtSettled, noteArrival } from '../../memberships/look-store.ts';
import { callTool, readGroup } from '../../tools/call-tool.ts';
import { firstReadDay } from './look-back.ts';
import { assignWork, type CollectedReading, mergeReading } from './merge-reading.ts';
import { listWaitingIn, loadAccounts, loadMembers, type WaitingMembership } from './scope-member-store.ts';
import {
  changeScope,
  findScope,
  keepScopes,
  listWorkScopes,
  type ReadScope,
  settleScope,
  type WorkScope,
  wantScopes,
  workIn,
} from './scope-store.ts';
import { listUnreadMembers } from './total-store.ts';

/** How long one reading may take. */
const readingMs = 5 * 60_000;
/** The lease outlasts the reading, so that its result can be merged. */
const leaseSlackMs = 60_000;
/** For changes that were being saved when the last reading began, and for clocks that differ. */
const overlapMs = 10 * 60_000;
const completeEveryMs = 20 * 3_600_000;

/** Reads the work in scopes, one scope of each tool at a time. */
export function workJobs({ adapters }: Context): JobKind[] {
  const readable = [...adapters].filter(([, adapter]) => adapter.readUsage !== undefined);
  return readable.map(([tool]) => ({
    name: workIn(tool),
    atOnce: 1,
    leaseMs: readingMs + leaseSlackMs,
    // A reading, and merging it.
    stallMs: 2 * readingMs,
    run: (ctx, job, signal, hold) => readScope(ctx, tool, job, signal, hold),
  }));
}

/** Reads a scope that is due, of any tool. Installs take turns. @returns false if none is due */
export async function readNextScope(ctx: Context, signal: AbortSignal): Promise<boolean> {
  const kinds = new Map(workJobs(ctx).map((kind) => [kind.name, kind]));
  const due = (await listDueTurns(ctx, toInstant(ctx.clock.now()))).flatMap(({ kind, install }) => {
    const known = kinds.get(kind as JobKind['name']);
    return known === undefined ? [] : [{ kind: known, install, turn: `${install} ${kind}` }];
  });
  const turns = turnsOf(ctx.database, 'work');
  for (const turn of turns.inOrder(due.map((one) => one.turn))) {
    const next = due.find((one) => one.turn === turn);
    turns.served(turn);
    if (next !== undefined && (await runNextJob(ctx, next.kind, next.install, signal))) return true;
  }
  return false;
}

/** A reading that breaks off changes nothing. */
async function readScope(ctx: Context, tool: string, job: Job, signal: AbortSignal, hold: JobHold): Promise<null> {
  const beganAt = ctx.clock.now();
  const known = await findScope(ctx, { tool, scope: job.key });
  const reading: ReadScope = { ...known, attempts: job.attempts, hold };
  const workScope = (await listWorkScopes(ctx)).find((one) => one.tool === tool && one.scope === job.key);
  try {
    if (workScope !== undefined) await readWorkScope(ctx, reading, workScope, beganAt, signal);
    // Nobody works in the scope any more, or the configuration has changed.
    else await settleScope(ctx, reading, { beganAt: toInstant(beganAt), isComplete: false, gap: null });
    return null;
  } catch (thrown) {
    const error = toAppError(thrown);
    // If the process stops, nothing is wrong with the scope.
    if (!signal.aborted) await noteFailure(ctx, reading, workScope, beganAt, error);
    throw error;
  }
}

async function readWorkScope(
  ctx: Context,
  reading: ReadScope,
  workScope: WorkScope,
  beganAt: Date,
  signal: AbortSignal,
): Promise<void> {
  const { tool, scope, completeBeganAt, readBeganAt } = reading;
  const { timeZone } = workScope;
  const isComplete = beganAt.getTime() - Date.parse(completeBeganAt ?? '1970-01-01') > completeEveryMs;
  const changedSince = isComplete ? null : readBeganAt && instantAfter(readBeganAt, -overlapMs);
  await resolveWaiting(ctx, workScope, signal);
  const accounts = await loadAccounts(ctx, tool, workScope.groupIds);
  const request = { timeZone, firstDay: firstReadDay(ctx), changedSince };
  const collected = await readWork(ctx, workScope, request, signal);
  const { observations } = collected;
  // There are ever more former members, and a reading has nothing about most of them.
  const concerned = isComplete ? accounts : accounts.filter(({ memberId }) => observations.has(memberId));
  const known = await loadMembers(ctx, concerned);
  const { members, strays } = assignWork(known, observations, ctx.box);
  // Converge looks at them again, and finds their other account or alerts an operator.
  await eachInTransaction(ctx, strays, (tx, { membershipId }, now) => lookAtSettled(tx, membershipId, now));
  await mergeReading(ctx, { reading, workScope, members, ...collected, beganAt, isComplete }, signal);
  const gap = [...collected.gaps].sort().join('; ') || null;
  await settleScope(ctx, reading, { beganAt: toInstant(beganAt), isComplete, gap });
  ctx.logger.info({ tool, scope, isComplete }, 'The work in a scope was read');
}

async function noteFailure(
  ctx: Context,
  reading: ReadScope,
  workScope: WorkScope | undefined,
  beganAt: Date,
  error: AppError,
): Promise<void> {
  const now = toInstant(ctx.clock.now());
  // A refused token is no refusal of the scope: once the token is replaced, everything can be read.
  const isRefused = !concernsAll(error) && reading.attempts > 0;
  const changes = {
    failure: maskText(error.message),
    // Only a scope with a live link has to stay readable.
    failingSince: workScope?.isLinked === true ? (reading.failingSince ?? now) : null,
    goneSince: error.code === 'not_found' ? (reading.goneSince ?? now) : null,
    refusedAt: isRefused ? toInstant(beganAt) : null,
  };
  await inTransaction(ctx.database, (tx) => changeScope(tx, reading, changes));
}

/** Collects the whole reading before anything is merged, because one that breaks off proves nothing. */
async function readWork(
  { adapters }: Context,
  { tool, scope }: WorkScope,
  request: UsageRequest,
  signal: AbortSignal,
): Promise<CollectedReading> {
  return await callTool(readingMs, signal, async (callSignal) => {
    const read = adapters.get(tool)?.readUsage?.(scope, request, callSignal);
    if (read === undefined) throw new AppError('invalid', `The tool ${tool} cannot report work`);
    const all: (UsageObservation | UsageNote)[] = [];
    for await (const one of read) {
      callSignal.throwIfAborted();
      all.push(one);
    }
    const observed = all.filter((one) => one.of !== 'task' && one.of !== 'gap');
    const tasks = all.filter((one) => one.of === 'task');
    return {
      observations: Map.groupBy(observed, ({ memberId }) => memberId),
      tasks: new Set(tasks.map(({ taskId }) => taskId)),
      wholeTasks: new Set(tasks.flatMap(({ taskId, isWhole }) => (isWhole === true ? taskId : []))),
      gaps: new Set(all.flatMap((one) => (one.of === 'gap' ? one.says : []))),
    };
  });
}

const listing = { timeoutMs: 60_000, maxMembers: 50_000 };

/**
 * Finds the accounts of trainers who were let in, before their work is read: without the account's id the work would be
 * nobody's.
 *
 * @throws AppError if a group cannot be listed; then the work cannot be read either
 */
async function resolveWaiting(
  ctx: Context,
  { tool, groupIds }: { tool: string; groupIds: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const adapter = ctx.adapters.get(tool);
  if (adapter?.listMembers === undefined) return;
  const list = adapter.listMembers.bind(adapter);
  const byGroup = Map.groupBy(await listWaitingIn(ctx, tool, groupIds), ({ groupId }) => groupId);
  for (const [groupId, ofGroup] of byGroup) {
    const listed = await readGroup(list, groupId, listing, signal);
    // Converge completes those memberships that are wanted.
    await eachInTransaction(ctx, matchArrived(ofGroup, listed), noteArrival);
  }
}

async function eachInTransaction<T>(
  { database, clock }: Context,
  all: readonly T[],
  change: (tx: Transaction, one: T, now: string) => Promise<void>,
): Promise<void> {
  if (all.length === 0) return;
  const now = toInstant(clock.now());
  await inTransaction(database, async (tx) => {
    for (const one of all) await change(tx, one, now);
  });
}

/** Pure: matches by address, without accounts of two trainers and trainers with two accounts. */
export function matchArrived(waiting: readonly WaitingMembership[], listed: readonly Member[]) {
  const accounts = Map.groupBy(
    listed.filter(({ isInvited }) => isInvited !== true),
    ({ email }) => email?.toLowerCase(),
  );
  const found = waiting.flatMap((one) => {
    const [account, ...others] = one.addresses.flatMap((address) => accounts.get(address) ?? []);
    const isOne = account !== undefined && others.every(({ id }) => id === account.id);
    return isOne ? [{ ...one, accountId: account.id }] : [];
  });
  const owners = Map.groupBy(found, ({ accountId }) => accountId);
  return found.filter(({ trainerId, accountId }) => owners.get(accountId)?.every((one) => one.trainerId === trainerId));
}

/** Finds new scopes and new members, whose work is read at once. */
export const workSweepJob = soleJob('work sweep', async (ctx) => {
  const now = toInstant(ctx.clock.now());
  await keepScopes(ctx, await listWorkScopes(ctx), now);
  for (const [tool, { readUsage }] of ctx.adapters) if (readUsage !== undefined) await wantNewMembers(ctx, tool, now);
  return minuteMs;
});

/** A new member's total is read soon: what they did before the first reading is held. */
async function wantNewMembers(ctx: Context, tool: string, now: string): Promise<void> {
  // Once for each member, because a scope may not show their work.
  const welcomed = remembered(ctx.database, 'welcomed members', () => new Set<number>());
  const unread = await listUnreadMembers(ctx, tool);
  const scopes = unread.filter(({ membershipId }) => !welcomed.has(membershipId));
  if (scopes.length > 0) await inTransaction(ctx.database, (tx) => wantScopes(tx, scopes, now));
  for (const { membershipId } of unread) welcomed.add(membershipId);
}
