import type { ErrorCode } from '../domain/errors.ts';
import type { Adapter } from './adapter.ts';

/**
 * The default export of an adapter outside this repository: `export default (kit) => ({…})`. Such an adapter imports only
 * types, from here and from `adapter.ts`. Everything else is in the kit.
 */
export type CreateAdapter = (kit: AdapterKit) => Adapter | Promise<Adapter>;

export interface AdapterKit {
  /** The name in `tools.<name>`. */
  readonly tool: string;
  /** The settings in `tools.<name>`, not validated. References to secrets are resolved, and `path` is absolute. */
  readonly settings: Readonly<Record<string, unknown>>;

  /**
   * Sends a request with a time-out and a size limit. Redirects are refused, and so is plain http to another machine,
   * unless `settings.allowHttp` is true. In errors, the tool's words are masked.
   *
   * @throws an error as `error` makes it: `unauthenticated` (401), `forbidden` (403), `not_found` (404), `conflict` (409),
   * `rate_limited` (429) and `unavailable` (408, 425, 5xx, no answer in time) with the tool's `Retry-After`, else `invalid`
   * (also for an answer that is too large or not JSON)
   */
  request(request: KitRequest): Promise<KitAnswer>;

  /**
   * The only error whose message is shown: anything else that an adapter throws becomes `internal` without its message.
   * `unavailable` and `rate_limited` are retried soon, all others hourly.
   */
  error(code: ErrorCode, message: string, options?: KitErrorOptions): Error;

  /** An id as exactly one segment of a path; throws `invalid` if it would lead to another path. */
  pathSegment(value: string): string;

  /** Ignores the case of the addresses. */
  isSameAddress(one: string | null, other: string | null): boolean;
}

export interface KitRequest {
  /** GET by default. */
  method?: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** For errors: "add the member". */
  purpose: string;
  /** The signal of the adapter's call. */
  signal: AbortSignal;
  /** Statuses that are answers, not errors, such as 404 for a removal. */
  expected?: readonly number[];
  /** Do not parse the body of the answer. */
  isAnswerIgnored?: boolean;
  /** Texts that errors must not quote, such as the person's address. Texts in the settings never are. */
  secrets?: readonly string[];
  /** Milliseconds; 15,000 by default. */
  timeoutMs?: number;
  /** 4 MiB by default. */
  maxBytes?: number;
}

export interface KitAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON; undefined if it is empty or ignored, or the status is an expected one. */
  body: unknown;
}

export interface KitErrorOptions {
  /** The status of the tool's answer. */
  status?: number;
  /** How long the tool asked to wait. Milliseconds. */
  retryAfterMs?: number;
}
