import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { AppError, type ErrorCode } from '../domain/errors.ts';
import { createDeadline, type Deadline } from './clock.ts';
import { chunksOf } from './lists.ts';
import { maskText } from './mask.ts';
import { sayProxy } from './proxy.ts';
import { stripBom } from './text.ts';
import { version } from './version.ts';

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
  const { answer, text } = await exchange(request, deadline).finally(deadline.clear);
  const { status, headers } = answer;
  if (!isOk(answer)) throw toHttpError(answer, text, request);
  const body = toBody(request, text);
  // Only refusals are documented to have an id, in their body.
  const requestId = headers.get('x-request-id') ?? '';
  if (/^[\x21-\x7e]{1,200}$/.test(requestId)) request.onRequestId?.(maskText(requestId, request.secrets));
  return { status, headers, body };
}

async function exchange(request: HttpRequest, deadline: Deadline): Promise<{ answer: Answer; text: string }> {
  const answer = await send(request, deadline);
  return { answer, text: await readText(answer, request.maxBytes, request.purpose) };
}

/** An answer whose body is still to be read. */
interface Answer extends Omit<HttpAnswer, 'body'> {
  message: IncomingMessage;
}

function isOk({ status }: Answer): boolean {
  return status >= 200 && status < 300;
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
    const answer = await send(request, deadline);
    if (!isOk(answer)) throw toHttpError(answer, await readText(answer, maxErrorBytes, purpose), request);
    yield* readBytes(answer, maxBytes, purpose);
  } finally {
    deadline.clear();
  }
}

/** The size limit of a refusal. */
const maxErrorBytes = 4 * 1024 * 1024;

/** By Node's own client, because `fetch` takes twice the processor time: in a hire with three calls, 0.5 ms of 5.7. */
async function send(request: HttpRequest, deadline: Deadline): Promise<Answer> {
  const { purpose, timeoutMs } = request;
  try {
    const message = await open(request, deadline.signal);
    const { statusCode: status = 0, rawHeaders } = message;
    const headers = new Headers();
    for (const [name = '', value = ''] of chunksOf(rawHeaders, 2)) headers.append(name, value);
    request.onHeaders?.(headers, status);
    return { status, headers, message };
  } catch (error) {
    // The error for an invalid header is not kept as the cause, because it is about a secret.
    if (invalidHeader.has(codeOf(error))) {
      throw new AppError('invalid', `Could not ${purpose}: one of its headers cannot be sent`);
    }
    throw toUnreachable(error, deadline, purpose, timeoutMs);
  }
}

const invalidHeader: ReadonlySet<string> = new Set(['ERR_INVALID_CHAR', 'ERR_INVALID_HTTP_TOKEN']);

function open({ url, method, headers, ...content }: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { type, text } = toSent(content);
  const defaults = {
    accept: 'application/json',
    'user-agent': `gangway/${version}`,
    ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
  };
  const client = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    const opened = client.request(url, { method, signal, headers: { ...defaults, ...headers } }, resolve);
    opened.on('error', reject).end(text);
  });
}

function toSent({ body, form }: Pick<HttpRequest, 'body' | 'form'>): { type?: string; text?: string } {
  if (form !== undefined) {
    return { type: 'application/x-www-form-urlencoded;charset=UTF-8', text: new URLSearchParams(form).toString() };
  }
  return body === undefined ? {} : { type: 'application/json', text: JSON.stringify(body) };
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'no connection';
}

function toUnreachable(error: unknown, deadline: Deadline, purpose: string, timeoutMs: number): AppError {
  const code = codeOf(error);
  const advice = code.includes('CERT') ? '. For a private authority, set NODE_EXTRA_CA_CERTS to its certificate' : '';
  const why = deadline.hasPassed() ? `no answer within ${timeoutMs} ms` : code;
  return new AppError('unavailable', `Could not ${purpose}: ${why}${sayProxy()}${advice}`, { cause: error });
}

async function readText(answer: Answer, maxBytes: number, purpose: string): Promise<string> {
  const chunks = await Array.fromAsync(readBytes(answer, maxBytes, purpose));
  return stripBom(Buffer.concat(chunks).toString('utf8'));
}

/** Leaving the loop early closes the connection. */
async function* readBytes({ message }: Answer, maxBytes: number, purpose: string): AsyncGenerator<Uint8Array> {
  let length = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
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

function toHttpError(answer: Answer, text: string, request: HttpRequest): AppError {
  const { purpose, secrets = [], explain = () => [] } = request;
  const { status } = answer;
  const code = codeByStatus.get(status) ?? (status >= 500 ? 'unavailable' : 'invalid');
  const { error, requestId, body } = readEnvelope(text);
  const says = [...(error === undefined ? [] : [maskText(error, secrets).slice(0, maxSaidChars)]), ...explain(body)];
  const said = says.length === 0 ? '' : `: ${maskText(says.join('; '), secrets)}`;
  return new AppError(code, `Could not ${purpose}: answered ${status}${said}`, {
    status,
    ...(requestId !== undefined && { requestId: maskText(requestId, secrets).slice(0, 200) }),
    ...retryAfterOf(answer),
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
function retryAfterOf({ headers }: Answer): { retryAfterMs?: number } {
  const value = headers.get('retry-after');
  if (value === null) return {};
  if (/^\d+(\.\d*)?$/.test(value)) return { retryAfterMs: Math.min(Number(value) * 1000, longestRetryAfterMs) };
  // `Date.parse` reads other texts as dates too: "1.5" as the fifth of January 2001.
  const ms = /^[a-z]{3}|^\d{4}-/i.test(value) ? Date.parse(value) - Date.now() : Number.NaN;
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.min(Math.max(ms, 0), longestRetryAfterMs) };
}
