import { AppError } from '../domain/errors.ts';
import { type HttpAnswer, type HttpRequest, requestJson } from '../lib/http-client.ts';

/** How adapters make requests: the built-in ones directly, all others by the kit. */

type Defaults = typeof requestDefaults;

export interface ToolRequest extends Omit<HttpRequest, keyof Defaults>, Partial<Defaults> {
  signal: AbortSignal;
  /** Statuses that are an answer and no error. Their answer has no body. */
  expected?: readonly number[] | undefined;
}

/** At most 15 seconds and 4 MiB. */
export const requestDefaults = { method: 'GET', timeoutMs: 15_000, maxBytes: 4 * 1024 * 1024 };

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

/** The status that the tool answered; undefined for an error without an answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof AppError ? error.status : undefined;
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
