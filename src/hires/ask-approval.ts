import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { forgottenAfterMs } from '../domain/approval.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type JobKind, jobOf } from '../jobs/job.ts';
import { wantJobs } from '../jobs/job-store.ts';
import { instantIn, minuteMs, toInstant } from '../lib/clock.ts';
import { type Approval, approvals } from '../marketplace/contract/contracts.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { accountOf } from './account.ts';
import { kinds, type Wish } from './approval-kinds.ts';
import { dropApproval, findApproval, listOpenApprovals, replaceApproval, type StoredApproval } from './hire-store.ts';

/**
 * Requests what a person must confirm, unless it was done before or a request is pending. The request is stored before it
 * is sent. If its answer is lost, it is not sent again without the operator, because two approvals might be confirmed.
 *
 * @throws AppError `conflict` if the answer to an earlier request was lost; otherwise the refusal of the marketplace
 */
export async function askApproval(ctx: Context, by: By, wish: Wish, signal: AbortSignal): Promise<StoredApproval> {
  const { look, isRepeatable = wish.again } = kinds[wish.kind];
  const account = accountOf(ctx, wish.install);
  const before = await findApproval(ctx.database.kysely, wish);
  if (before?.status === 'pending') return await readApproval(ctx, before, signal);
  if (before?.status === 'confirmed') return before;
  if (before?.status === 'asked' && before.askedAt > instantIn(ctx.clock, -underWayMs)) {
    throw new AppError('conflict', 'This was requested a moment ago, and may be under way. Try again in a minute');
  }
  const { isDone, ...ids } = await look(account, wish, signal);
  const asked = { ...toAsked(wish, by), ...ids };
  if (isDone) return await settle(ctx, before, confirmed(asked, by.at));
  if (before !== undefined && isInDoubt(ctx, before) && !isRepeatable) throw doubtOf(before);
  return await send(ctx, by, wish, { before, asked }, signal);
}

async function send(
  ctx: Context,
  by: By,
  wish: Wish,
  { before, asked }: { before: StoredApproval | undefined; asked: StoredApproval },
  signal: AbortSignal,
): Promise<StoredApproval> {
  const { install, kind, subject } = wish;
  const { ask, look, idIn } = kinds[kind];
  const account = accountOf(ctx, install);
  const note = async (tx: Transaction) => {
    const isFirst = await replaceApproval(tx, before, asked);
    if (!isFirst) throw new AppError('conflict', 'Somebody else has just asked for it');
    await writeAudit(tx, by, `hire ${kind.replace('_', ' ')}`, `${install}/${subject}`);
    await wantJobs(tx, 'approvals', [jobOf(install)], by.at);
  };
  await inTransaction(ctx.database, note, { isDurable: true });
  try {
    const isAbout = ({ approval }: { approval?: Approval | undefined }) =>
      approval === undefined || (approval[idIn] ?? subject) === subject;
    const { approval } = await ask(account, wish, signal, { isAbout });
    const answered = approval === undefined ? confirmed(asked, by.at) : { ...asked, ...toStored(approval) };
    return await settle(ctx, asked, answered);
  } catch (thrown) {
    const error = toAppError(thrown);
    // With any other error, the marketplace may have heard the request.
    if (error.status === undefined || error.status >= 500) throw error;
    const seen = await look(account, wish, signal).catch(() => undefined);
    if (seen?.isDone === true) return await settle(ctx, asked, confirmed(asked, by.at));
    // A refusal does not settle what an earlier request may have led to.
    await inTransaction(ctx.database, async (tx) => {
      if (before === undefined) await dropApproval(tx, wish);
      else await replaceApproval(tx, asked, before);
    });
    throw error;
  }
}

function confirmed(approval: StoredApproval, decidedAt: string): StoredApproval {
  return { ...approval, status: 'confirmed', url: null, decidedAt };
}

/** Longer than a request takes. */
const underWayMs = 30_000;

function toAsked({ install, kind, subject, contractId }: Wish, { at: askedAt }: By): StoredApproval {
  const unknown = { jobId: null, approvalId: null, url: null, expiresAt: null, decidedAt: null };
  return { install, kind, subject, ...unknown, contractId, askedAt, status: 'asked' };
}

function isInDoubt({ clock }: Context, { status, askedAt }: StoredApproval): boolean {
  return status === 'asked' && askedAt > instantIn(clock, -forgottenAfterMs);
}

function doubtOf({ askedAt }: StoredApproval): AppError {
  const why = `The answer to the request of ${askedAt} was lost, so an approval may wait at the marketplace`;
  return new AppError('conflict', `${why}. Look in your account there. If there is none, ask once more with --again`);
}

/** Without a link that nobody can use any more. */
function toStored({ id: approvalId, status, approvalUrl, expiresAt, resolvedAt, contractId, jobId }: Approval) {
  const url = status === 'pending' ? (approvalUrl ?? null) : null;
  const ids = { ...(contractId && { contractId }), ...(jobId && { jobId }) };
  return { approvalId, status, url, expiresAt, decidedAt: resolvedAt, ...ids };
}

/** Stores what became of a request. After a confirmation the install is read. @returns what is stored then */
async function settle(
  ctx: Context,
  before: StoredApproval | undefined,
  approval: StoredApproval,
): Promise<StoredApproval> {
  return await inTransaction(ctx.database, async (tx) => {
    const isStored = await replaceApproval(tx, before, approval);
    if (!isStored) return (await findApproval(tx, approval)) ?? approval;
    if (approval.status === 'confirmed') await wantRead(tx, [approval.install], toInstant(ctx.clock.now()));
    return approval;
  });
}

/** Reads a pending approval again, or looks for what became of a request whose answer was lost. */
export async function readApproval(ctx: Context, row: StoredApproval, signal: AbortSignal): Promise<StoredApproval> {
  const account = accountOf(ctx, row.install);
  const { approvalId } = row;
  const read = approvalId === null ? null : (await account.call(approvals.get, { approvalId }, signal)).approval;
  if (read !== null && read.status !== 'pending') return await settle(ctx, row, { ...row, ...toStored(read) });
  // Another request for the same may have been confirmed.
  const { isDone, ...ids } = await kinds[row.kind].look(account, row, signal).catch((error: unknown) => {
    if (read === null) throw error;
    return { isDone: false };
  });
  const decidedAt = toInstant(ctx.clock.now());
  if (isDone) return await settle(ctx, row, confirmed({ ...row, ...ids }, decidedAt));
  if (read !== null || isInDoubt(ctx, row)) return row;
  return await settle(ctx, row, { ...row, status: 'expired', decidedAt });
}

/** Most people decide soon, and have three days. */
const soonMs = 60 * minuteMs;

/** Follows what waits for a person until it is decided. */
export const approvalJob: JobKind = {
  name: 'approvals',
  atOnce: 2,
  leaseMs: 90_000,
  stallMs: 5 * minuteMs,
  restMs: () => minuteMs,
  async run(ctx, { install }, signal, hold) {
    const read: StoredApproval[] = [];
    const failures: unknown[] = [];
    for (const row of await listOpenApprovals(ctx, install)) {
      await hold.progress();
      // One that cannot be read does not keep the others waiting.
      try {
        read.push(await readApproval(ctx, row, signal));
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    const open = read.filter(({ status }) => status === 'asked' || status === 'pending');
    if (open.length === 0) return null;
    return open.some(({ askedAt }) => askedAt > instantIn(ctx.clock, -soonMs)) ? minuteMs : 10 * minuteMs;
  },
};
