import { type AppError, isTransient, toAppError } from '../../domain/errors.ts';
import { chunksOf } from '../../lib/chunks.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import type { PlatformApi, UsageEntry } from '../../marketplace/platform-api.ts';
import type { Budget } from '../../marketplace/platform-schema.ts';
import type { SendResult } from './ledger-day.ts';
import { type ContractKey, type LedgerStore, reportIdOf } from './ledger-store.ts';
import type { PlannedEntry } from './plan-report.ts';

/** What an answer says beside that the usage was taken; null where that could not be read. */
export type OnAnswer = (
  install: string,
  contractId: string,
  budget: Budget | null,
  /** When the request began. */
  askedAt: string,
) => Promise<void>;

export interface SendDeps {
  ledger: LedgerStore;
  clock: Clock;
  /** Keeps others from sending for this contract; false where somebody else has begun to. */
  hold(): Promise<boolean>;
  onAnswer: OnAnswer;
}

export interface Sent {
  answered: PlannedEntry[];
  refused: PlannedEntry[];
  /** What has to be sent again. */
  left: PlannedEntry[];
  requests: number;
  /** Why no more was sent of this contract, or of this install at all. */
  failure: AppError | null;
}

const batchSize = 100;

/**
 * Sends what is planned for one contract. Between a request and its answer its entries are in doubt
 * in the ledger, so that whoever comes after a crash sends them again. What the marketplace refuses
 * is narrowed down, so that one bad entry does not keep back others.
 */
export async function sendUsage(
  deps: SendDeps,
  api: Pick<PlatformApi, 'reportUsage'>,
  of: ContractKey,
  entries: readonly PlannedEntry[],
  signal: AbortSignal,
): Promise<Sent> {
  const sent = nothingSent();
  const batches = chunksOf(entries, batchSize);
  for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
    if (!(await deps.hold())) return { ...sent, left: [...batch, ...batches.flat()] };
    const error = await sendBatch(deps, api, of, batch, signal);
    sent.requests += 1;
    if (error === null) sent.answered.push(...batch);
    else if (isOfOneEntry(error) && batch.length > 1) batches.unshift(...halvesOf(batch));
    else if (isRefusal(error)) sent.refused.push(...batch);
    else return { ...sent, left: [...batch, ...batches.flat()], failure: error };
  }
  return sent;
}

export function nothingSent(): Sent {
  return { answered: [], refused: [], left: [], requests: 0, failure: null };
}

/** @returns why not, or null */
async function sendBatch(
  { ledger, clock, onAnswer }: SendDeps,
  api: Pick<PlatformApi, 'reportUsage'>,
  of: ContractKey,
  batch: readonly PlannedEntry[],
  signal: AbortSignal,
): Promise<AppError | null> {
  const sentAt = toInstant(clock.now());
  await ledger.begin(of, batch, sentAt);
  const heard = { isRepeated: false, requestId: null as string | null };
  const settle = (result: SendResult) => ledger.settle(of, batch, sentAt, { result, now: toInstant(clock.now()) });
  let budget: Budget | null;
  try {
    const listeners = {
      onUnheard() {
        heard.isRepeated = true;
      },
      onRequestId(requestId: string) {
        heard.requestId = requestId;
      },
    };
    const entries = batch.map(toUsageEntry);
    ({ budget } = await api.reportUsage(of.contractId, entries, signal, listeners));
  } catch (thrown) {
    const error = toAppError(thrown);
    const { isRepeated } = heard;
    if (hasNotArrived(error)) await settle({ ...toResult(error, batch.length), isRepeated });
    return error;
  }
  await settle({ ...heard, state: 'answered', status: null, message: null });
  await onAnswer(of.install, of.contractId, budget, sentAt);
  return null;
}

/** Every count that any source has, zeros too: one that is left out would keep what is stored. */
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

/** The answer says that nothing was stored; without one, or with a fault of theirs, nobody knows. */
function hasNotArrived({ status }: AppError): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408;
}

function isOfOneEntry({ status }: AppError): boolean {
  return status === 400 || status === 413 || status === 422;
}

/**
 * 404: the contract is no longer linked; 409: nobody is hired. Both may be different tomorrow. What
 * concerns the whole install (401, 403, 429) is no refusal of an entry.
 */
function isRefusal(error: AppError): boolean {
  return isOfOneEntry(error) || error.status === 404 || error.status === 409;
}

/** Of several that are refused together, those that are good are still to be told from the rest. */
function toResult(error: AppError, size: number): Omit<SendResult, 'isRepeated'> {
  const { status = null, requestId = null } = error;
  const isFinal = isRefusal(error) && !(isOfOneEntry(error) && size > 1);
  const state = isFinal ? 'refused' : 'unsent';
  return { state, status, requestId, message: maskText(error.message) };
}

/** Whether the rest of the install need not be tried now. */
export function concernsInstall(error: AppError): boolean {
  return isTransient(error) || error.code === 'unauthenticated' || error.code === 'forbidden';
}

function halvesOf(batch: readonly PlannedEntry[]): PlannedEntry[][] {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}
