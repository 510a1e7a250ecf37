import type { ErrorCode } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';

/**
 * The default export of an adapter outside this repository: `export default (kit) => ({…})`. Such an
 * adapter imports only types, from this file and from `adapter.ts`. Everything else is in the kit.
 */
export type CreateAdapter = (kit: AdapterKit) => Adapter | Promise<Adapter>;

export interface AdapterKit {
  /** The name in `tools.<name>`. */
  readonly tool: string;
  /** The settings in `tools.<name>`, not validated. References to secrets are resolved, and `path` is absolute. */
  readonly settings: Readonly<Record<string, unknown>>;

  /**
   * One request with a time-out and a size limit. Redirects are refused, and so is plain http to another
   * machine, unless `settings.allowHttp` is true. In errors, what the tool says is masked.
   *
   * @throws what `error` makes: `unauthenticated` (401), `forbidden` (403), `not_found` (404),
   * `conflict` (409), `rate_limited` (429) and `unavailable` (408, 425, 5xx, no answer in time) with
   * the tool's `Retry-After`, else `invalid` (also for an answer that is not JSON, or too large)
   */
  request(request: KitRequest): Promise<KitAnswer>;

  /**
   * The only error whose message is shown: everything else that an adapter throws becomes `internal`
   * without its message. `unavailable` and `rate_limited` are tried again soon, all others hourly.
   */
  error(code: ErrorCode, message: string, options?: KitErrorOptions): Error;

  /** An id as exactly one segment of a path; throws `invalid` if it would lead to another path. */
  pathSegment(value: string): string;

  /** Whether two addresses are the same. Their case never matters. */
  isSameAddress(one: string | null, other: string | null): boolean;
}

export interface KitRequest {
  /** GET by default. */
  method?: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** What the request tries to do, for errors: "add the member". */
  purpose: string;
  /** The signal of the adapter's call. */
  signal: AbortSignal;
  /** Statuses that are answers, not errors, such as 404 for a removal. */
  expected?: readonly number[];
  /** The body of the answer is not needed, so it is not parsed. */
  isAnswerIgnored?: boolean;
  /** What errors must not quote besides the texts in the settings, such as the person's address. */
  secrets?: readonly string[];
  /** Milliseconds; 15,000 by default. */
  timeoutMs?: number;
  /** 4 MiB by default. */
  maxBytes?: number;
}

export interface KitAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON; undefined if it is empty, ignored, or of an expected status. */
  body: unknown;
}

export interface KitErrorOptions {
  /** The status of the tool's answer. */
  status?: number;
  /** How long the tool asked to wait. Milliseconds. */
  retryAfterMs?: number;
}
