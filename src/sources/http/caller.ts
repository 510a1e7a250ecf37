import { AppError, toAppError } from '../../domain/errors.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { requestJson } from '../../lib/http-client.ts';
import { maskText } from '../../lib/mask.ts';
import { retry } from '../../lib/retry.ts';
import { type OpenSpan, withSpan } from '../../lib/tracing.ts';
import type { CallNotes } from '../source.ts';
import type { Token } from '../token.ts';
import { driftMsOf } from './clock-drift.ts';
import { createPacer, type Pacer, type Pacing } from './pacer.ts';

export interface CallOptions {
  /** Without a slash at its end, such as `https://app.opentrain.ai/api/partner/v1`. */
  baseUrl: string;
  token: Token;
  /** How long one request may take. */
  timeoutMs?: number;
  pacing?: Pacing;
  clock?: Clock;
}

export interface Operation<T> {
  /** `GET` by default. */
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base address, with its query. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** What the call tries to do, for errors: "list the contracts". */
  purpose: string;
  answer: Schema<T>;
  /** Sent only once whatever the outcome, because a second call would make a second thing. */
  isSentOnce?: boolean;
  isAnonymous?: boolean;
  notes?: CallNotes;
  /**
   * An attempt whose answer was lost may have taken effect. The next one is then refused with `code`, and
   * `answer` is used instead of the refusal.
   */
  doneBefore?: { code: AppError['code']; answer: (refusal: AppError) => Promise<T> | T };
}

interface Schema<T> {
  safeParse(body: unknown): { success: true; data: T } | { success: false; error: Error };
}

export type Call = <T>(operation: Operation<T>, signal: AbortSignal) => Promise<T>;

/** Makes the calls of one install to the marketplace: paced, timed, and retried if that is harmless. */
export interface Caller {
  /** @throws AppError as `requestJson`, and `invalid` for an answer of another shape */
  call: Call;
  clockDriftMs(): number | undefined;
}

const usualTimeoutMs = 15_000;
const usualPacing: Pacing = { requestsPerSecond: 10, burst: 20 };
const maxBytes = 8 * 1024 * 1024;
const firstPauseMs = 1000;
const longestPauseMs = 60_000;

export function createCaller(options: CallOptions): Caller {
  const { baseUrl, token, timeoutMs = usualTimeoutMs, clock = systemClock } = options;
  const pacer = createPacer(options.pacing ?? usualPacing);
  const onRateLimit = createRateLimit(pacer);
  const server = new URL(baseUrl).hostname;
  let clockDriftMs: number | undefined;

  async function send<T>(operation: Operation<T>, signal: AbortSignal): Promise<T> {
    await pacer.admit(signal);
    const { method = 'GET', purpose } = operation;
    const attributes = { 'http.request.method': method, 'server.address': server, 'gangway.purpose': purpose };
    return await withSpan(method, { kind: 'client', attributes }, (span) => sendWithToken(operation, signal, span));
  }

  /** A refused token may have been replaced while the request was under way. What was refused was not done. */
  async function sendWithToken<T>(operation: Operation<T>, signal: AbortSignal, span: OpenSpan): Promise<T> {
    const used = await readToken(token);
    try {
      return await sendOne(operation, used, signal, span);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 401) throw error;
      const next = await readToken(token);
      if (next === used) throw error;
      return await sendOne(operation, next, signal, span);
    }
  }

  async function sendOne<T>(operation: Operation<T>, used: string, signal: AbortSignal, span: OpenSpan): Promise<T> {
    const { method = 'GET', path, body, purpose, answer, notes } = operation;
    const sentAtMs = clock.now().getTime();
    const { body: answered, headers } = await requestJson({
      method,
      url: `${baseUrl}${path}`,
      body,
      purpose,
      timeoutMs,
      maxBytes,
      signal,
      ...(!operation.isAnonymous && { headers: { authorization: `Bearer ${used}` } }),
      secrets: [used],
      onHeaders(headers, status) {
        span.set({ 'http.response.status_code': status });
        const answeredAtMs = clock.now().getTime();
        clockDriftMs = driftMsOf(headers, { sentAtMs, answeredAtMs }) ?? clockDriftMs;
      },
    });
    const requestId = requestIdOf(headers);
    if (requestId !== null) notes?.onRequestId?.(maskText(requestId, [used]));
    const parsed = answer.safeParse(answered);
    if (parsed.success) return parsed.data;
    throw new AppError('invalid', `Could not ${purpose}: the answer is not what was expected`, {
      cause: parsed.error,
    });
  }

  return {
    clockDriftMs: () => clockDriftMs,
    call: (operation, signal) =>
      retry(
        createAttempt(operation, () => onRateLimit(() => send(operation, signal))),
        {
          attempts: operation.isSentOnce === true ? 1 : 3,
          firstWaitMs: 500,
          maxWaitMs: 5000,
          signal,
          // A failure that asks for a certain wait is for the durable back-off.
          isWorthRetrying: ({ code, retryAfterMs }) => code === 'unavailable' && retryAfterMs === undefined,
        },
      ),
  };
}

async function readToken(token: Token): Promise<string> {
  return typeof token === 'string' ? token : await token();
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

/** An answer of 429 applies to all following requests too, so it pauses them. */
function createRateLimit(pacer: Pacer): <T>(send: () => Promise<T>) => Promise<T> {
  let refusals = 0;
  return async (send) => {
    try {
      const answer = await send();
      refusals = 0;
      return answer;
    } catch (error) {
      // Without a status the pacer itself refused the request.
      if (error instanceof AppError && error.status === 429) {
        const ceilingMs = Math.min(firstPauseMs * 2 ** refusals, longestPauseMs);
        pacer.pause(error.retryAfterMs ?? ceilingMs * (0.5 + Math.random() / 2));
        refusals += 1;
      }
      throw error;
    }
  };
}

/** Assumed, because only refusals are documented to have one. */
const header = 'x-request-id';

/** The marketplace's id of a request, to be quoted to its support; null if it gave none. */
function requestIdOf(headers: Headers): string | null {
  const requestId = headers.get(header);
  return requestId !== null && /^[\x21-\x7e]{1,200}$/.test(requestId) ? requestId : null;
}
