import { AppError } from '../domain/errors.ts';
import { type HttpAnswer, type HttpRequest, requestJson } from '../lib/http-client.ts';
import { type RestToken, requestLimits, statusOf } from '../lib/rest-client.ts';

/** Requests that no REST client makes: declared ones, those for web pages, and those of custom adapters. */

type Defaults = typeof requestDefaults;

export interface ToolRequest extends Omit<HttpRequest, keyof Defaults>, Partial<Defaults> {
  signal: AbortSignal;
  /** Statuses that are answers, not errors. Such an answer has no body. */
  expected?: readonly number[] | undefined;
}

const requestDefaults = { method: 'GET', ...requestLimits };

/** @throws AppError as `requestJson` */
export async function requestTool({ expected = [], ...request }: ToolRequest): Promise<HttpAnswer> {
  try {
    return await requestJson({ ...requestDefaults, ...request });
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined || !expected.includes(status)) throw error;
    return { status, headers: new Headers(), body: undefined };
  }
}

/** @returns null for an answer with one of these statuses */
export async function unless<T>(statuses: readonly number[], call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (statuses.includes(statusOf(error) ?? 0)) return null;
    throw error;
  }
}

/** The same error with another message, which says what to do about it. */
export function reworded(error: AppError, message: string): AppError {
  const { code, cause, status, retryAfterMs } = error;
  return new AppError(code, message, {
    cause,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Adds to an error of a call what to do about it, if that is known. */
export async function withRemedy<T>(call: Promise<T>, remedyOf: (error: AppError) => string | undefined): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const remedy = error instanceof AppError ? remedyOf(error) : undefined;
    if (!(error instanceof AppError) || remedy === undefined) throw error;
    throw reworded(error, `${error.message.replace(/\.$/, '')}; ${remedy}`);
  }
}

export interface LoggedIn {
  token: string;
  /** By default until the tool refuses it. */
  validForMs?: number;
}

const timeoutMs = 15_000;

/**
 * A token that expires, kept in memory only. Simultaneous calls share one login, which has its own time-out, so that a
 * caller that gives up does not fail the others.
 */
export function createLogin(logIn: (signal: AbortSignal) => Promise<LoggedIn>): Exclude<RestToken, string> {
  let known: { token: string; staleAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    try {
      const { token, validForMs = Number.POSITIVE_INFINITY } = await logIn(AbortSignal.timeout(timeoutMs));
      known = { token, staleAt: performance.now() + validForMs };
      return token;
    } finally {
      pending = undefined;
    }
  }

  return async (signal, refused) => {
    if (signal.aborted) throw givenUp();
    if (known?.token === refused) known = undefined;
    if (known !== undefined && performance.now() < known.staleAt) return known.token;
    pending ??= renew();
    return await untilAborted(pending, signal);
  };
}

function givenUp(): AppError {
  return new AppError('unavailable', 'Could not log in: no answer in time');
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(givenUp());
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
