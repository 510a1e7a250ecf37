import { AppError } from '../domain/errors.ts';
import { type HttpAnswer, type HttpRequest, requestJson } from '../lib/http-client.ts';
import { requestLimits, statusOf } from '../lib/rest-client.ts';

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
