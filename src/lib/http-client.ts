import { AppError, type ErrorCode } from '../domain/errors.ts';
import { createDeadline, type Deadline } from './clock.ts';
import { maskText } from './mask.ts';
import { sayProxy } from './proxy.ts';
import { stripBom } from './text.ts';

export interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as the form of a page, instead of `body`. */
  form?: Readonly<Record<string, string>>;
  /** What the request tries to do, for errors: "list the project links". */
  purpose: string;
  /** Texts that no error may contain, even if the answer quotes them. */
  secrets?: readonly string[];
  /** Whether the body of the answer is not parsed, because it is not needed. */
  isAnswerIgnored?: boolean;
  /** Whether the answer is a page, which is returned as text. */
  isAnswerText?: boolean;
  /** Called with the headers of each answer, also of a failure. */
  onHeaders?: (headers: Headers, status: number) => void;
  /** Called with the other system's id of a successful request, which its support asks for. */
  onRequestId?: (requestId: string) => void;
  /** What the body of a refusal says besides its error, for the message. */
  explain?: (body: unknown) => readonly string[];
  timeoutMs: number;
  maxBytes: number;
  signal?: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON, or the text of a page; undefined if the body is empty or ignored. */
  body: unknown;
}

/**
 * One request with a time-out and a size limit. It follows no redirect, because its credential is only for the configured
 * address.
 *
 * @throws AppError by the status: `unauthenticated`, `forbidden`, `not_found`, `conflict`, `rate_limited` and `unavailable`
 * (with the time of `Retry-After`), otherwise `invalid`; `unavailable` without an answer in time; `invalid` for an answer
 * that is not JSON or too large
 */
export async function requestJson(request: HttpRequest): Promise<HttpAnswer> {
  const deadline = createDeadline(request.timeoutMs, request.signal);
  const { response, text } = await exchange(request, deadline).finally(deadline.clear);
  if (!response.ok) throw toHttpError(response, text, request);
  const body = toBody(request, text);
  // Only refusals are documented to have an id, in their body.
  const requestId = response.headers.get('x-request-id') ?? '';
  if (/^[\x21-\x7e]{1,200}$/.test(requestId)) request.onRequestId?.(maskText(requestId, request.secrets));
  return { status: response.status, headers: response.headers, body };
}

async function exchange(request: HttpRequest, deadline: Deadline): Promise<{ response: Response; text: string }> {
  const response = await send(request, deadline);
  request.onHeaders?.(response.headers, response.status);
  return { response, text: await readText(response, request.maxBytes, request.purpose) };
}

function toBody({ isAnswerIgnored, isAnswerText, purpose }: HttpRequest, text: string): unknown {
  if (isAnswerIgnored) return undefined;
  return isAnswerText ? text : parseJson(text, purpose);
}

/**
 * One request whose answer is not JSON, or too large for the memory. It yields the bytes as they arrive, up to `maxBytes`. The
 * time-out is for the whole answer.
 *
 * @throws AppError as `requestJson`, also during the reading
 */
export async function* requestBytes(request: HttpRequest): AsyncGenerator<Uint8Array> {
  const { purpose, maxBytes, timeoutMs, signal } = request;
  const deadline = createDeadline(timeoutMs, signal);
  try {
    const response = await send(request, deadline);
    request.onHeaders?.(response.headers, response.status);
    if (!response.ok) {
      throw toHttpError(response, await readText(response, maxErrorBytes, purpose), request);
    }
    yield* readBytes(response, maxBytes, purpose);
  } finally {
    deadline.clear();
  }
}

/** The size limit of a refusal. */
const maxErrorBytes = 4 * 1024 * 1024;

async function send(request: HttpRequest, deadline: Deadline): Promise<Response> {
  const { method, url, purpose, timeoutMs } = request;
  const body = toSent(request);
  const headers = toHeaders(request);
  try {
    return await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: deadline.signal,
    });
  } catch (error) {
    throw toUnreachable(error, deadline, purpose, timeoutMs);
  }
}

function toSent({ body, form }: HttpRequest): string | URLSearchParams | undefined {
  if (form !== undefined) return new URLSearchParams(form);
  return body === undefined ? undefined : JSON.stringify(body);
}

/** The error for an invalid header quotes its value, so it is not kept as the cause. */
function toHeaders({ headers, body, purpose }: HttpRequest): Headers {
  const defaults = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  try {
    const all = new Headers(defaults);
    for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value);
    return all;
  } catch {
    throw new AppError('invalid', `Could not ${purpose}: one of its headers cannot be sent`);
  }
}

function toUnreachable(error: unknown, deadline: Deadline, purpose: string, timeoutMs: number): AppError {
  const { cause } = error as { cause?: { code?: unknown } };
  // A proxy that refuses makes a cause with the code 0.
  const code = typeof cause?.code === 'string' ? cause.code : 'no connection';
  const advice = code.includes('CERT') ? '. For a private authority, set NODE_EXTRA_CA_CERTS to its certificate' : '';
  const why = deadline.hasPassed() ? `no answer within ${timeoutMs} ms` : code;
  return new AppError('unavailable', `Could not ${purpose}: ${why}${sayProxy()}${advice}`, { cause: error });
}

async function readText(response: Response, maxBytes: number, purpose: string): Promise<string> {
  const chunks = await Array.fromAsync(readBytes(response, maxBytes, purpose));
  return stripBom(Buffer.concat(chunks).toString('utf8'));
}

/** Leaving the loop early cancels the body and closes the connection. */
async function* readBytes(response: Response, maxBytes: number, purpose: string): AsyncGenerator<Uint8Array> {
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > maxBytes) break;
      yield chunk;
    }
  } catch (error) {
    throw new AppError('unavailable', `Could not ${purpose}: the answer broke off`, {
      cause: error,
    });
  }
  if (length > maxBytes) {
    throw new AppError('invalid', `Could not ${purpose}: the answer is over ${maxBytes} bytes`);
  }
}

function parseJson(text: string, purpose: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AppError('invalid', `Could not ${purpose}: the answer is not JSON`);
  }
}

const codeByStatus = new Map<number, ErrorCode>([
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [408, 'unavailable'],
  [409, 'conflict'],
  [425, 'unavailable'],
  [429, 'rate_limited'],
]);

function toHttpError(response: Response, text: string, request: HttpRequest): AppError {
  const { purpose, secrets = [], explain = () => [] } = request;
  const { status } = response;
  const code = codeByStatus.get(status) ?? (status >= 500 ? 'unavailable' : 'invalid');
  const { error, requestId, body } = readEnvelope(text);
  const says = [...(error === undefined ? [] : [maskText(error, secrets).slice(0, maxSaidChars)]), ...explain(body)];
  const said = says.length === 0 ? '' : `: ${maskText(says.join('; '), secrets)}`;
  return new AppError(code, `Could not ${purpose}: answered ${status}${said}`, {
    status,
    ...(requestId !== undefined && { requestId: maskText(requestId, secrets).slice(0, 200) }),
    ...retryAfterOf(response),
  });
}

/**
 * The marketplace sends `{error, code, requestId, details}`, or OAuth's `{error, error_description}`. Tools send `error`,
 * `detail` or `message`, a text, a list of texts, or nothing.
 */
function readEnvelope(text: string): { error?: string; requestId?: string; body?: unknown } {
  try {
    const body = JSON.parse(text) as unknown;
    const { error_description, error, detail, message, requestId } = Object(body) as Record<string, unknown>;
    const [alone] = [body].flat();
    const said = error_description ?? error ?? detail ?? message ?? alone;
    return {
      ...(typeof said === 'string' && { error: said }),
      ...(typeof requestId === 'string' && { requestId }),
      body,
    };
  } catch {
    return {};
  }
}

const maxSaidChars = 200;

const longestRetryAfterMs = 3_600_000;

/** Seconds, which some servers give as a decimal, or a date; at most an hour. */
function retryAfterOf({ headers }: Response): { retryAfterMs?: number } {
  const value = headers.get('retry-after');
  if (value === null) return {};
  if (/^\d+(\.\d*)?$/.test(value)) return { retryAfterMs: Math.min(Number(value) * 1000, longestRetryAfterMs) };
  // `Date.parse` reads other texts as dates too: "1.5" as the fifth of January 2001.
  const ms = /^[a-z]{3}|^\d{4}-/i.test(value) ? Date.parse(value) - Date.now() : Number.NaN;
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.min(Math.max(ms, 0), longestRetryAfterMs) };
}
