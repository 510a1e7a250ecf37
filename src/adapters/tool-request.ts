import { AppError } from '../domain/errors.ts';
import { unlessAborted } from '../lib/clock.ts';
import { type HttpAnswer, type HttpRequest, requestJson } from '../lib/http-client.ts';
import { type RestCall, type RestClient, type RestToken, requestLimits, statusOf } from '../lib/rest-client.ts';
import type { Finding } from './adapter.ts';

/** The client of a tool during one call of the port. */
export interface ToolClient {
  readonly signal: AbortSignal;
  call<T>(call: ToolCall<T>): Promise<T>;
  download(call: ToolCall<never>): AsyncGenerator<Uint8Array>;
}

export type ToolCall<T> = Omit<RestCall<T>, 'signal'>;

/** Gives every request the signal of the call. */
export function withSignal(client: RestClient, signal: AbortSignal): ToolClient {
  return {
    signal,
    call: (call) => client.call({ ...call, signal }),
    download: (call) => client.download({ ...call, signal }),
  };
}

type Defaults = typeof requestDefaults;

export interface ToolRequest extends Omit<HttpRequest, keyof Defaults>, Partial<Defaults> {
  signal: AbortSignal;
  /** Statuses that are answers, not errors. Such an answer has no body. */
  expected?: readonly number[] | undefined;
}

const requestDefaults = { method: 'GET', ...requestLimits };

/**
 * A request that the REST client is not made for: a declared one, one for a web page, or one of a custom adapter.
 *
 * @throws AppError as `requestJson`
 */
export async function requestTool({ expected = [], ...request }: ToolRequest): Promise<HttpAnswer> {
  try {
    return await requestJson({ ...requestDefaults, ...request });
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined || !expected.includes(status)) throw error;
    return { status, headers: new Headers(), body: undefined };
  }
}

/** Null for an answer with one of these statuses. */
export async function unless<T>(statuses: readonly number[], call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (statuses.includes(statusOf(error) ?? 0)) return null;
    throw error;
  }
}

/** The same error with another message. */
export function reworded(error: AppError, message: string): AppError {
  const { code, cause, status, retryAfterMs } = error;
  return new AppError(code, message, {
    cause,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Adds to the error of a call what to do about it, if that is known. */
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
  /** By default, until the tool refuses the token. */
  validForMs?: number;
}

const timeoutMs = 15_000;

/**
 * A token that expires, kept only in memory. Simultaneous calls share one login, which has a time-out of its own, so that
 * a caller who gives up does not fail the others.
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
    return await unlessAborted(pending, signal, givenUp);
  };
}

function givenUp(): AppError {
  return new AppError('unavailable', 'Could not log in: no answer in time');
}

interface Remedies {
  /** If something other than the tool answers. */
  url: string;
  /** If the tool refuses the token. */
  token: string;
  /** If the token lacks a right. */
  rights?: string;
}

/** What an operator can do about the error of a check; undefined if that is unknown. */
export function remedyFrom({ url, token, rights }: Remedies): (error: AppError) => string | undefined {
  return (error) => {
    const { code, status = 0 } = error;
    if (code === 'unauthenticated') return token;
    if (code === 'forbidden') return rights;
    if (Math.floor(status / 100) === 3) return '"url" must be the address that it redirects to';
    if (code === 'not_found' || code === 'invalid') return url;
    // A server that answered may only be busy.
    return code === 'unavailable' && status === 0 ? remedyOfConnection(codeOf(error)) : undefined;
  };
}

function remedyOfConnection(code: string): string {
  if (/^ERR_SSL|^EPROTO/.test(code)) {
    return 'the server there does not speak TLS: check the port in "url"';
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return 'its certificate is not trusted: renew it, or name the authority that signed it in NODE_EXTRA_CA_CERTS';
  }
  return 'does it run, and is "url" right?';
}

/** `fetch` hides the reason of a failed connection in the cause of its error. */
function codeOf(error: Error): string {
  let cause: unknown = error.cause;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
    cause = cause.cause;
  }
  return '';
}

const soonMs = 14 * 86_400_000;

/** @param expiry in milliseconds; NaN if it is unknown or the token never expires */
export function findingsOfExpiry(expiry: number): Finding[] {
  if (!(expiry - Date.now() <= soonMs)) return [];
  const says = `The token expires at ${new Date(expiry).toISOString()}`;
  return [{ says, action: 'Make a new one before then, and put it into "token"', isFailure: false }];
}
