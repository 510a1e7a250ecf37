import { randomUUID } from 'node:crypto';
import { AppError, toAppError } from '../domain/errors.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createRestClient, type RestToken, type Schema } from '../lib/rest-client.ts';
import { retry } from '../lib/retry.ts';
import { isPathSegment, pathSegment } from '../lib/url.ts';
import { checkFile } from './check-file.ts';
import {
  type Answer,
  type Api,
  fieldsOfPath,
  methodOf,
  type Operation,
  pathOf,
  type Sent,
} from './contract/operation.ts';
import { Anything } from './contract/values.ts';
import { createPacer, createRateLimit, type Pacing } from './pacer.ts';
import { type Listing, type ListingPage, type PageOptions, readPages } from './read-pages.ts';
import { keepRefusal, type Refusal, readRefusal } from './refusal.ts';

export interface ClientOptions {
  /** Of one of the APIs, without a trailing slash, such as `https://app.opentrain.ai/api/partner/v1`. */
  baseUrl: string;
  token: RestToken;
  /** For one request. */
  timeoutMs?: number;
  pacing?: Pacing;
  clock?: Clock;
}

/** What a caller may want to know about a call besides its answer. */
export interface CallNotes {
  /** The outcome of an attempt is unknown. It may still take effect, even after the next attempt. */
  onUnheard?(): void;
  /** The marketplace's id of the answered request, if the answer has one. */
  onRequestId?(requestId: string): void;
}

export interface CallExtras<T> {
  /** Whether the answer is about the requested contract: its trainers and money must not count for another. */
  isAbout?: ((answer: T) => boolean) | undefined;
  notes?: CallNotes | undefined;
  /** For an operation that accepts one in a header; a new one for each call by default. */
  idempotencyKey?: string | undefined;
  /**
   * For an operation that is refused with `code` if an earlier attempt, whose answer was lost, took effect: the answer in
   * place of that refusal.
   */
  doneBefore?: { code: AppError['code']; answer: (refusal: AppError) => Promise<T> | T } | undefined;
}

/** A record of a listing. */
type RecordOf<One extends Operation> =
  unknown extends Answer<One>
    ? unknown
    : { [Name in keyof Answer<One>]-?: Answer<One>[Name] extends (infer T)[] ? T : never }[keyof Answer<One>];

type ListingOptions<One extends Operation> = PageOptions<RecordOf<One>> & Pick<CallExtras<Answer<One>>, 'isAbout'>;

type Fields = Record<string, unknown>;

export type Client = ReturnType<typeof createClient>;

/** Calls the operations of the contract with one token: paced, timed, and retried if that is harmless. */
export function createClient(options: ClientOptions) {
  const baseUrls = baseUrlsOf(options.baseUrl);
  const { send, download, clockDriftMs } = createSender(options, baseUrls);

  async function ask<T>(operation: Operation, fields: Fields, signal: AbortSignal, extras: CallExtras<T>): Promise<T> {
    const request = toRequest(operation, fields, extras.idempotencyKey);
    const answer = await sendAgain(request, extras, signal, () => send<T>(operation, request, signal, extras.notes));
    if (extras.isAbout?.(answer) !== false) return answer;
    throw new AppError('invalid', `Could not ${operation.purpose}: the answer is about another contract`);
  }

  /** A listing by its pages, as `readPages`. */
  async function pages<One extends Operation>(
    operation: One,
    input: Sent<One>,
    signal: AbortSignal,
    { isAbout, ...listing }: ListingOptions<One>,
  ): Promise<Listing<RecordOf<One>>> {
    return await readPages(async (cursor) => {
      const page = await ask<Answer<One>>(operation, { ...toFields(input), cursor }, signal, { isAbout });
      const { [operation.pages ?? '']: records, ...more } = toFields(page);
      return { ...more, records } as ListingPage<RecordOf<One>>;
    }, listing);
  }

  /**
   * A whole listing, even if it is documented without pages, because it may get some later.
   *
   * @throws AppError `unavailable` if the list is incomplete
   */
  async function listWhole<One extends Operation>(
    operation: One,
    input: Sent<One>,
    signal: AbortSignal,
    listing: ListingOptions<One> = {},
  ): Promise<RecordOf<One>[]> {
    const { records, isComplete } = await pages(operation, input, signal, listing);
    if (isComplete) return records;
    const why = 'the list is incomplete, or changed while it was read';
    throw new AppError('unavailable', `Could not ${operation.purpose}: ${why}`);
  }

  return {
    /** @throws AppError as `requestJson`, and `invalid` for an answer of another shape or about another contract */
    call: <One extends Operation>(
      operation: One,
      input: Sent<One>,
      signal: AbortSignal,
      extras: CallExtras<Answer<One>> = {},
    ): Promise<Answer<One>> => ask(operation, toFields(input), signal, extras),
    pages,
    listWhole,
    /** The answer as it came, whatever its shape. */
    callRaw: (operation: Operation, input: Fields, signal: AbortSignal, extras: CallExtras<unknown> = {}) =>
      ask({ ...operation, out: Anything }, input, signal, extras),
    /** A file of at most 20 MiB. It is good only if the generator ends without an error. Never retried. */
    download: <One extends Operation>(operation: One, input: Sent<One>, signal: AbortSignal) =>
      download(operation, toRequest(operation, toFields(input)), signal),
    /** As `Source.clockDriftMs`. */
    clockDriftMs,
  };
}

/** The request that a call would send, for a person to read: without tokens. @param baseUrl as of a client */
export function previewRequest(baseUrl: string, operation: Operation, input: Fields) {
  const { method, path, body, headers, isAnonymous } = toRequest(operation, input, 'new for each call');
  return {
    method,
    url: `${baseUrlsOf(baseUrl)[operation.api]}${path}`,
    headers: { ...(!isAnonymous && { authorization: 'Bearer …' }), ...headers },
    body: body && maskFields(body),
  };
}

const secretFields = ['token', 'claim_token'];

function maskFields(body: Fields): Fields {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, secretFields.includes(name) ? '…' : value]),
  );
}

/** The base URLs of all APIs from that of one of them. An address of another form is that of each. */
export function baseUrlsOf(baseUrl: string): Record<Api, string> {
  const host = baseUrl.replace(/\/api\/(partner|public)\/v1$/, '');
  if (host === baseUrl) return { platform: baseUrl, public: baseUrl, auth: baseUrl };
  return { platform: `${host}/api/partner/v1`, public: `${host}/api/public/v1`, auth: `${host}/api/agent` };
}

const usualTimeoutMs = 15_000;
const usualPacing: Pacing = { requestsPerSecond: 10, burst: 20 };
const maxBytes = 8 * 1024 * 1024;
const maxFileBytes = 20 * 1024 * 1024;
/** How many times longer than another answer a file may take. */
const filePatience = 8;

type Request = ReturnType<typeof toRequest>;

/** Sends single requests, and learns from the answers: the clock, the pace, and why a request was refused. */
function createSender(options: ClientOptions, baseUrls: Record<Api, string>) {
  const { token, timeoutMs = usualTimeoutMs, clock = systemClock } = options;
  const pacer = createPacer(options.pacing ?? usualPacing);
  const noteOutcome = createRateLimit(pacer);
  let clockDriftMs: number | undefined;

  const restOf = ({ api }: Operation) =>
    createRestClient({ baseUrl: baseUrls[api], authorization: { scheme: 'Bearer', token }, timeoutMs, maxBytes });

  function watch(operation: Operation) {
    let sentAtMs = clock.now().getTime();
    let refusal: Refusal | undefined;
    let headers = new Headers();
    const hooks = {
      onHeaders(answered: Headers) {
        headers = answered;
        const answeredAtMs = clock.now().getTime();
        clockDriftMs = driftMsOf(headers, { sentAtMs, answeredAtMs }) ?? clockDriftMs;
        // If the token was refused, the request with the next token is sent after this answer.
        sentAtMs = answeredAtMs;
      },
      explain(body: unknown) {
        refusal = readRefusal(operation, body);
        return refusal.says;
      },
    };
    function settle(error?: unknown) {
      noteOutcome(error);
      keepRefusal(error, refusal);
      return error;
    }
    return { hooks, settle, headers: () => headers };
  }

  return {
    async send<T>(operation: Operation, request: Request, signal: AbortSignal, notes: CallNotes = {}): Promise<T> {
      await pacer.admit(signal);
      const { hooks, settle } = watch(operation);
      const answer = operation.out as Schema<T>;
      try {
        const read = await restOf(operation).call({ ...request, ...notes, ...hooks, answer, signal });
        settle();
        return read;
      } catch (error) {
        throw settle(error);
      }
    },

    async *download(operation: Operation, request: Request, signal: AbortSignal): AsyncGenerator<Uint8Array> {
      await pacer.admit(signal);
      const { hooks, settle, headers } = watch(operation);
      const limits = { maxBytes: maxFileBytes, timeoutMs: timeoutMs * filePatience };
      try {
        const bytes = restOf(operation).download({ ...request, ...hooks, ...limits, signal });
        yield* checkFile(bytes, headers, operation.purpose);
        settle();
      } catch (error) {
        throw settle(error);
      }
    },

    clockDriftMs: () => clockDriftMs,
  };
}

/** The fields of the path are in it, and the others in the query or the body. */
function toRequest(operation: Operation, input: Fields, idempotencyKey: string = randomUUID()) {
  const { in: known, credential, idempotency, purpose } = operation;
  const method = methodOf(operation);
  const inPath = fieldsOfPath(operation);
  const fields = Object.entries(input).filter(([name, value]) => value !== undefined && !inPath.includes(name));
  const isInQuery = method === 'GET' || method === 'DELETE';
  const path = pathOf(operation).replaceAll(/\{(\w+)\}/g, (_, name: string) => toSegment(input[name]));
  const hasBody = !isInQuery && (fields.length > 0 || Object.keys(known.shape).length > 0);
  return {
    method,
    path: isInQuery ? `${path}${toQuery(fields)}` : path,
    ...(hasBody && { body: Object.fromEntries(fields) }),
    headers: { ...(idempotency === 'header' && { 'Idempotency-Key': idempotencyKey }) },
    isAnonymous: credential === 'none' || credential === 'claim',
    secrets: secretFields.map((name) => String(input[name] ?? '')),
    // Without its key, a second draft would be created.
    isSentOnce: idempotency === 'none' || (idempotency === 'body' && input['idempotencyKey'] === undefined),
    purpose,
  };
}

function toQuery(fields: [string, unknown][]): string {
  const query = new URLSearchParams();
  for (const [name, value] of fields) for (const one of [value].flat()) query.append(name, String(one));
  return query.size === 0 ? '' : `?${query}`;
}

const toFields = (input: unknown) => Object(input) as Fields;

/** @throws AppError `not_found` for an id that cannot be exactly one segment, because nothing can have it */
function toSegment(id: unknown): string {
  const text = String(id ?? '');
  if (!isPathSegment(text)) throw new AppError('not_found', 'No record can have this id');
  return pathSegment(text);
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

/** Sends it a few times if the marketplace is unavailable, where that is harmless. */
async function sendAgain<T>(
  { isSentOnce }: Request,
  { doneBefore, notes }: CallExtras<T>,
  signal: AbortSignal,
  send: () => Promise<T>,
): Promise<T> {
  let isInDoubt = false;
  async function attempt() {
    try {
      return await send();
    } catch (thrown) {
      const error = toAppError(thrown);
      if (isInDoubt && doneBefore?.code === error.code) return await doneBefore.answer(error);
      if (error.code === 'unavailable') notes?.onUnheard?.();
      isInDoubt ||= error.code === 'unavailable';
      throw error;
    }
  }
  return await retry(attempt, {
    attempts: isSentOnce ? 1 : 3,
    firstWaitMs: 500,
    maxWaitMs: 5000,
    signal,
    // If the marketplace says how long to wait, that is for the durable back-off.
    isWorthRetrying: ({ code, retryAfterMs }) => code === 'unavailable' && retryAfterMs === undefined,
  });
}
