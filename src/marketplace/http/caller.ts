import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, toAppError } from '../../domain/errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createRestClient, type RestCall, type RestToken, type Schema } from '../../lib/rest-client.ts';
import { retry } from '../../lib/retry.ts';
import { isPathSegment, pathSegment } from '../../lib/url.ts';
import type { CallNotes } from '../source.ts';

export interface CallOptions {
  /** Without a trailing slash, such as `https://app.opentrain.ai/api/partner/v1`. */
  baseUrl: string;
  token: RestToken;
  /** For one request. */
  timeoutMs?: number;
  pacing?: Pacing;
  clock?: Clock;
}

export interface Operation<T>
  extends Pick<RestCall<T>, 'method' | 'path' | 'body' | 'purpose' | 'isAnonymous' | 'signal'> {
  /** Undefined values are left out. */
  query?: Record<string, string | undefined>;
  answer: Schema<T>;
  /** Whether the answer is about the requested contract: its trainers and money must not count for another. */
  isAbout?: (answer: T) => boolean;
  /** Never retried, because a second call would create a second thing. */
  isSentOnce?: boolean;
  notes?: CallNotes;
  /**
   * For an operation that is refused with `code` if an earlier attempt, whose answer was lost, took effect: the answer in
   * place of that refusal.
   */
  doneBefore?: { code: AppError['code']; answer: (refusal: AppError) => Promise<T> | T };
}

export type Call = <T>(operation: Operation<T>) => Promise<T>;

interface Caller {
  /** @throws AppError as `requestJson`, and `invalid` for an answer of another shape or about another contract */
  call: Call;
  clockDriftMs(): number | undefined;
}

const usualTimeoutMs = 15_000;
const usualPacing: Pacing = { requestsPerSecond: 10, burst: 20 };
const maxBytes = 8 * 1024 * 1024;
const firstPauseMs = 1000;
const longestPauseMs = 60_000;

/** Makes the calls of one install to the marketplace: paced, timed, and retried if that is harmless. */
export function createCaller(options: CallOptions): Caller {
  const { baseUrl, token, timeoutMs = usualTimeoutMs, clock = systemClock } = options;
  const client = createRestClient({ baseUrl, authorization: { scheme: 'Bearer', token }, timeoutMs, maxBytes });
  const pacer = createPacer(options.pacing ?? usualPacing);
  const onRateLimit = createRateLimit(pacer);
  let clockDriftMs: number | undefined;

  async function send<T>(operation: Operation<T>): Promise<T> {
    await pacer.admit(operation.signal);
    let sentAtMs = clock.now().getTime();
    return await client.call({
      ...operation,
      ...operation.notes,
      path: toPath(operation),
      onHeaders(headers) {
        const answeredAtMs = clock.now().getTime();
        clockDriftMs = driftMsOf(headers, { sentAtMs, answeredAtMs }) ?? clockDriftMs;
        // If the token was refused, the request with the next token is sent after this answer.
        sentAtMs = answeredAtMs;
      },
    });
  }

  return {
    clockDriftMs: () => clockDriftMs,
    async call(operation) {
      const { purpose, signal, isSentOnce, isAbout } = operation;
      const answer = await retry(
        createAttempt(operation, () => onRateLimit(() => send(operation))),
        {
          attempts: isSentOnce === true ? 1 : 3,
          firstWaitMs: 500,
          maxWaitMs: 5000,
          signal,
          // If the marketplace says how long to wait, that is for the durable back-off.
          isWorthRetrying: ({ code, retryAfterMs }) => code === 'unavailable' && retryAfterMs === undefined,
        },
      );
      if (isAbout?.(answer) !== false) return answer;
      throw new AppError('invalid', `Could not ${purpose}: the answer is about another contract`);
    },
  };
}

function toPath<T>({ path, query = {} }: Operation<T>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/**
 * A path with ids, each of which is exactly one segment.
 *
 * @throws AppError `not_found` for an id that cannot be a segment, because nothing can have it
 */
export function pathOf(texts: TemplateStringsArray, ...ids: string[]): string {
  if (!ids.every(isPathSegment)) throw new AppError('not_found', 'No record can have this id');
  return String.raw(texts, ...ids.map(pathSegment));
}

/**
 * By how much the local clock is at least ahead of the `Date` header (negative: behind): the header has whole seconds,
 * and the answer takes time. Undefined without a header, and for an answer from a cache.
 */
export function driftMsOf(
  headers: Headers,
  { sentAtMs, answeredAtMs }: { sentAtMs: number; answeredAtMs: number },
): number | undefined {
  const theirsMs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(theirsMs) || headers.has('age')) return undefined;
  const leastMs = sentAtMs - (theirsMs + 1000);
  const mostMs = answeredAtMs - theirsMs;
  if (leastMs > 0) return leastMs;
  return mostMs < 0 ? mostMs : 0;
}

function createAttempt<T>({ doneBefore, notes }: Operation<T>, send: () => Promise<T>): () => Promise<T> {
  let isInDoubt = false;
  return async () => {
    try {
      return await send();
    } catch (thrown) {
      const error = toAppError(thrown);
      if (isInDoubt && doneBefore?.code === error.code) return await doneBefore.answer(error);
      if (error.code === 'unavailable') notes?.onUnheard?.();
      isInDoubt ||= error.code === 'unavailable';
      throw error;
    }
  };
}

/** After a 429, all requests of the install pause. */
function createRateLimit(pacer: Pacer): <T>(send: () => Promise<T>) => Promise<T> {
  let refusals = 0;
  return async (send) => {
    try {
      const answer = await send();
      refusals = 0;
      return answer;
    } catch (error) {
      // Without a status, the pacer refused the request.
      if (error instanceof AppError && error.status === 429) {
        const ceilingMs = Math.min(firstPauseMs * 2 ** refusals, longestPauseMs);
        pacer.pause(error.retryAfterMs ?? ceilingMs * (0.5 + Math.random() / 2));
        refusals += 1;
      }
      throw error;
    }
  };
}

/** Spreads requests over time, because the marketplace publishes no quota. */
export interface Pacer {
  /**
   * Resolves when the next request may be sent, in the order of the calls.
   *
   * @throws AppError `rate_limited` if the pause is too long to wait here, `unavailable` if the signal ends the wait
   */
  admit(signal: AbortSignal): Promise<void>;
  /** Admits no request for this long. Never shortens a longer pause. */
  pause(ms: number): void;
}

interface Pacing {
  requestsPerSecond: number;
  /** How many requests may be sent at once after an idle time. */
  burst: number;
}

/** A longer pause is for the durable back-off. */
const longestWaitMs = 5000;

export function createPacer({ requestsPerSecond, burst }: Pacing): Pacer {
  const spacingMs = 1000 / requestsPerSecond;
  const toleranceMs = (burst - 1) * spacingMs;
  /** Monotonic, so that a clock correction delays no request. */
  const now = () => performance.now();
  let isFullAt = 0;
  let pausedUntil = 0;

  function takeSlot(): number {
    const at = Math.max(now(), isFullAt - toleranceMs);
    isFullAt = Math.max(isFullAt, at) + spacingMs;
    return at;
  }

  return {
    async admit(signal) {
      do {
        const pauseMs = pausedUntil - now();
        if (pauseMs > longestWaitMs) throw toPaused(pauseMs);
        await wait(pauseMs, signal);
        // The slot is taken after the pause, or all waiting requests would be sent at once.
        if (pausedUntil <= now()) await wait(takeSlot() - now(), signal);
      } while (pausedUntil > now());
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, now() + ms);
    },
  };
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    if (ms > 0) await sleep(ms, undefined, { signal });
  } catch (error) {
    const message = 'Could not ask the marketplace: the request was stopped while it waited for its turn';
    throw new AppError('unavailable', message, { cause: error });
  }
}

function toPaused(pauseMs: number): AppError {
  const seconds = Math.ceil(pauseMs / 1000);
  const message = `Could not ask the marketplace: it accepts no requests for another ${seconds} s`;
  return new AppError('rate_limited', message, { retryAfterMs: Math.ceil(pauseMs) });
}

export interface ListingPage<T> {
  records: T[];
  nextCursor?: string | null | undefined;
  hasMore?: boolean | undefined;
}

export interface Listing<T> {
  /** Each record once, as it was first read. */
  records: T[];
  /** False if there may be more. What is missing is then unseen, not absent. */
  isComplete: boolean;
}

interface PageOptions<T> {
  keyOf: (record: T) => string;
  /** The requested number of records. If the only page has as many, there may be more. */
  limit?: number;
  /** Called if another page follows; false leaves the listing incomplete. */
  wantsMore?: ((page: T[]) => Promise<boolean> | boolean) | undefined;
  /** What to keep of each record; everything by default. */
  keep?: ((record: T) => T) | undefined;
}

const maxPages = 1000;

/**
 * Follows `nextCursor`. A listing that changed while it was read is incomplete: it repeats a record or a cursor, an
 * announced page is empty, or a page before the last is smaller than the one before it.
 */
export async function readPages<T>(
  readPage: (cursor: string | undefined) => Promise<ListingPage<T>>,
  { keyOf, limit = Number.POSITIVE_INFINITY, wantsMore = () => true, keep = (all) => all }: PageOptions<T>,
): Promise<Listing<T>> {
  const records = new Map<string, T>();
  const cursors = new Set<string>();
  let isSteady = true;
  let cursor: string | undefined;
  let lastSize = 0;
  for (let count = 0; count < maxPages; count += 1) {
    const page = await readPage(cursor);
    const kept = page.records.map(keep);
    const size = kept.length;
    const hasRepeated = addRecords(records, kept, keyOf);
    isSteady &&= !hasRepeated && (count === 0 || size > 0);
    if (!page.nextCursor) {
      const isCutOff = page.hasMore === true || (count === 0 && size >= limit);
      return { records: [...records.values()], isComplete: isSteady && !isCutOff };
    }
    isSteady &&= size >= Math.max(lastSize, 1);
    lastSize = size;
    cursor = page.nextCursor;
    if (cursors.has(cursor) || !(await wantsMore(kept))) break;
    cursors.add(cursor);
  }
  return { records: [...records.values()], isComplete: false };
}

/** @returns whether a record was on an earlier page */
function addRecords<T>(records: Map<string, T>, page: T[], keyOf: (record: T) => string): boolean {
  const added = page.filter((record) => !records.has(keyOf(record)));
  for (const record of added) if (!records.has(keyOf(record))) records.set(keyOf(record), record);
  return added.length < page.length;
}

/**
 * A listing that is documented without pages, but may get some later.
 *
 * @throws AppError `unavailable` if the list is incomplete
 */
export async function listWhole<Page extends ListingPage<unknown>>(
  call: Call,
  operation: Operation<Page>,
  keyOf: (record: Page['records'][number]) => string,
): Promise<Page['records']> {
  const readPage = (cursor: string | undefined) => call({ ...operation, query: { cursor } });
  const { records, isComplete } = await readPages(readPage, { keyOf });
  if (isComplete) return records;
  const why = 'the list is incomplete, or changed while it was read';
  throw new AppError('unavailable', `Could not ${operation.purpose}: ${why}`);
}
