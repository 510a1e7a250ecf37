import type { Context } from '../../context.ts';
import { type AppError, toAppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { toInstant } from '../../lib/clock.ts';
import { chunksOf } from '../../lib/lists.ts';
import { maskText } from '../../lib/mask.ts';
import type { Budget, Source, UsageEntry } from '../../marketplace/source.ts';
import type { SendResult } from './ledger-day.ts';
import { beginSending, reportIdOf, settleSent } from './ledger-store.ts';
import type { ReportOptions } from './plan-install.ts';
import type { PlannedEntry } from './plan-report.ts';

/** Called with the budget in an answer; null if it could not be read. */
export type OnAnswer = (
  ctx: Context,
  of: ContractKey,
  budget: Budget | null,
  /** When the request began. */
  askedAt: string,
) => Promise<void>;

export interface ReportRun {
  ctx: Context;
  onAnswer: OnAnswer;
  wanted: ReportOptions;
  signal: AbortSignal;
}

export interface SentEntries {
  answered: PlannedEntry[];
  refused: PlannedEntry[];
  requests: number;
  /** Why sending stopped for this contract, or for the whole install. */
  failure: AppError | null;
}

const batchSize = 100;

/**
 * Sends what is planned for one contract. Between a request and its answer the entries are in doubt in the ledger, so
 * that they are sent again after a crash. A refused batch is halved, so that one bad entry does not hold up the others.
 *
 * @param hold keeps other senders from this contract; false if another sender has begun
 */
export async function sendUsage(
  run: ReportRun,
  of: ContractKey,
  entries: readonly PlannedEntry[],
  hold: () => Promise<boolean>,
): Promise<SentEntries> {
  const sent: SentEntries = { answered: [], refused: [], requests: 0, failure: null };
  const reportUsage = run.ctx.sources.get(of.install)?.reportUsage;
  if (reportUsage === undefined) return sent;
  const batches = chunksOf(entries, batchSize);
  for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
    if (!(await hold())) return sent;
    const error = await sendBatch(run, reportUsage, of, batch);
    sent.requests += 1;
    if (error === null) sent.answered.push(...batch);
    else if (isOfOneEntry(error) && batch.length > 1) batches.unshift(...halvesOf(batch));
    else if (isRefusal(error)) sent.refused.push(...batch);
    else return { ...sent, failure: error };
  }
  return sent;
}

/** @returns the error, or null */
async function sendBatch(
  { ctx, onAnswer, signal }: ReportRun,
  reportUsage: NonNullable<Source['reportUsage']>,
  of: ContractKey,
  batch: readonly PlannedEntry[],
): Promise<AppError | null> {
  const sentAt = toInstant(ctx.clock.now());
  await beginSending(ctx, batch, sentAt);
  const heard = { isRepeated: false, requestId: null as string | null };
  const settle = (result: SendResult) => settleSent(ctx, batch, sentAt, { result, now: toInstant(ctx.clock.now()) });
  let budget: Budget | null;
  try {
    ({ budget } = await reportUsage(of.contractId, batch.map(toUsageEntry), signal, {
      onUnheard: () => Object.assign(heard, { isRepeated: true }),
      onRequestId: (requestId) => Object.assign(heard, { requestId }),
    }));
  } catch (thrown) {
    const error = toAppError(thrown);
    if (hasNotArrived(error)) await settle({ ...toResult(error, batch.length), isRepeated: heard.isRepeated });
    return error;
  }
  await settle({ ...heard, state: 'answered', status: null, message: null });
  await onAnswer(ctx, of, budget, sentAt);
  return null;
}

/** With every count that a source has, zeros too: the marketplace keeps a count that is left out. */
function toUsageEntry(entry: PlannedEntry): UsageEntry {
  const { seconds, tasks, labels } = entry.counts;
  return {
    workDate: entry.day,
    ...(seconds !== null && { totalSeconds: seconds }),
    ...(tasks !== null && { tasksCompleted: tasks }),
    ...(labels !== null && { labelsCompleted: labels }),
    workerOpentrainUserId: entry.trainerId,
    externalReportId: reportIdOf(entry),
  };
}

/** Whether the answer says that nothing was stored. Without an answer, or after a server error, that is unknown. */
function hasNotArrived({ status }: AppError): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

function isOfOneEntry({ status }: AppError): boolean {
  return status === 400 || status === 413 || status === 422;
}

/**
 * 404: the contract is no longer linked; 409: no trainer is hired. Both may change. Errors of the whole install (401,
 * 403, 429) do not refuse an entry.
 */
function isRefusal(error: AppError): boolean {
  return isOfOneEntry(error) || error.status === 404 || error.status === 409;
}

/** If several entries are refused together, some may be good. */
function toResult(error: AppError, size: number): Omit<SendResult, 'isRepeated'> {
  const { status = null, requestId = null } = error;
  const isFinal = isRefusal(error) && !(isOfOneEntry(error) && size > 1);
  const state = isFinal ? 'refused' : 'unsent';
  return { state, status, requestId, message: maskText(error.message) };
}

function halvesOf(batch: readonly PlannedEntry[]): PlannedEntry[][] {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}
