import type { ErrorCode } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';

/**
 * What an adapter outside this repository is made with: `export default (kit) => ({…})`. It
 * imports types only, from this file and from `adapter.ts`; everything else is in the kit.
 */
export type CreateAdapter = (kit: AdapterKit) => Adapter | Promise<Adapter>;

export interface AdapterKit {
  /** The name in `tools.<name>`. */
  readonly tool: string;
  /** What stands there, references to secrets resolved, `path` absolute. Not validated. */
  readonly settings: Readonly<Record<string, unknown>>;

  /**
   * One request with an end and a bound. Redirects are refused, and so is plain http to another
   * machine, unless `settings.allowHttp` is true. What the tool says in an error is masked.
   *
   * @throws what `error` makes: `unauthenticated` (401), `forbidden` (403), `not_found` (404),
   * `conflict` (409), `rate_limited` (429) and `unavailable` (408, 425, 5xx, no answer in time) with
   * the tool's `Retry-After`, else `invalid` (also for an answer that is no JSON, or too large)
   */
  request(request: KitRequest): Promise<KitAnswer>;

  /**
   * The only kind of error that says anything: whatever else an adapter throws becomes `internal`
   * without its message. `unavailable` and `rate_limited` are tried again soon, all others hourly.
   */
  error(code: ErrorCode, message: string, options?: KitErrorOptions): Error;

  /** An id as exactly one segment of a path; `invalid` where it would be another path. */
  pathSegment(value: string): string;

  /** Whether two addresses are one: their case never matters. */
  isSameAddress(one: string | null, other: string | null): boolean;
}

export interface KitRequest {
  /** GET unless told. */
  method?: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** What this is an attempt at, for errors: "add the member". */
  purpose: string;
  /** The signal that the call was given. */
  signal: AbortSignal;
  /** Statuses that are an answer and no error, such as 404 where somebody is removed. */
  expected?: readonly number[];
  /** Whether the answer's body may be anything: it is not parsed. */
  isAnswerIgnored?: boolean;
  /** What errors must not quote beside what stands in the settings: the person's address. */
  secrets?: readonly string[];
  /** 15,000 unless told. Milliseconds. */
  timeoutMs?: number;
  /** 4 MiB unless told. */
  maxBytes?: number;
}

export interface KitAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON; undefined where it is empty, ignored, or of an expected status. */
  body: unknown;
}

export interface KitErrorOptions {
  /** What the tool answered. */
  status?: number;
  /** How long it asked to be left alone. Milliseconds. */
  retryAfterMs?: number;
}
