export type ErrorCode =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'unavailable'
  | 'internal';

/** What a code means at the edges. */
interface Meaning {
  httpStatus: number;
  isTransient: boolean;
}

const meanings: Record<ErrorCode, Meaning> = {
  invalid: { httpStatus: 400, isTransient: false },
  unauthenticated: { httpStatus: 401, isTransient: false },
  forbidden: { httpStatus: 403, isTransient: false },
  not_found: { httpStatus: 404, isTransient: false },
  method_not_allowed: { httpStatus: 405, isTransient: false },
  conflict: { httpStatus: 409, isTransient: false },
  too_large: { httpStatus: 413, isTransient: false },
  unsupported_media_type: { httpStatus: 415, isTransient: false },
  rate_limited: { httpStatus: 429, isTransient: true },
  unavailable: { httpStatus: 503, isTransient: true },
  internal: { httpStatus: 500, isTransient: false },
};

interface AppErrorOptions {
  cause?: unknown;
  /** The status of another system's answer. */
  status?: number | undefined;
  /** How long that system asked Gangway to wait. */
  retryAfterMs?: number | undefined;
  /** The marketplace's id of the request, to quote to its support. */
  requestId?: string;
}

/**
 * The only error that is thrown on purpose. `message` tells a person what was attempted and why it failed, without any
 * secret, address or body.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.requestId = options.requestId;
  }
}

/** An unforeseen error becomes `internal` and keeps its cause. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AppError('internal', message, { cause: error });
}

export function httpStatusOf(code: ErrorCode): number {
  return meanings[code].httpStatus;
}

/** Whether the same call may succeed later. */
export function isTransient(error: AppError): boolean {
  return meanings[error.code].isTransient;
}

/** Whether another system refused the token. */
export function refusesToken({ code }: Pick<AppError, 'code'>): boolean {
  return code === 'unauthenticated' || code === 'forbidden';
}

/** Whether other requests would fail too: the system cannot be reached, asks to wait, or refuses the token. */
export function concernsAll(error: AppError): boolean {
  return isTransient(error) || refusesToken(error);
}
