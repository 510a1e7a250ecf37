import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Response } from 'express';
import { AppError, type ErrorCode, httpStatusOf, toAppError } from '../domain/errors.ts';
import { type Reason, refusals } from '../marketplace/contract/refusals.ts';

/** An error that the APIs answer with `details`. */
export class Refusal extends AppError {
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown>, retryAfterMs?: number) {
    super(code, message, { ...(retryAfterMs !== undefined && { retryAfterMs }) });
    this.details = details;
  }
}

const codeOf = { 400: 'invalid', 403: 'forbidden', 409: 'conflict', 429: 'rate_limited' } as const;

/** A refusal of the catalogue. */
export function refusalOf(reason: Reason, details: Record<string, unknown> = {}): Refusal {
  const [status, means] = refusals[reason];
  return new Refusal(codeOf[status], means.charAt(0).toUpperCase() + means.slice(1), { reason, ...details });
}

const platformCodes: Partial<Record<ErrorCode, string>> = {
  invalid: 'BAD_REQUEST',
  unauthenticated: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  conflict: 'CONFLICT',
  rate_limited: 'RATE_LIMITED',
  unavailable: 'INTERNAL_ERROR',
};
/** Of the operations that answer with a file (spec: part B section 4.2). */
const codesOfFiles: typeof platformCodes = {
  ...platformCodes,
  conflict: 'ATTACHMENT_UNAVAILABLE',
  unavailable: 'SERVICE_UNAVAILABLE',
};

export const requestIdHeader = 'x-request-id';

/** Answers each failure with the error body of the API, or with OAuth's. Express recognises it by its four parameters. */
export const answerError: ErrorRequestHandler = (thrown, _request, response: Response, _next) => {
  const error = isRefusedByExpress(thrown) ? toUnreadable(thrown) : toAppError(thrown);
  const code = (response.locals['isFile'] === true ? codesOfFiles : platformCodes)[error.code];
  response.status(code === undefined ? 500 : httpStatusOf(error.code));
  if (error.code === 'rate_limited') response.set(toRateLimit(error));
  if (response.locals['errors'] === 'oauth') return answerOAuth(response, error);
  response.json({
    error: error.message,
    code: code ?? 'INTERNAL_ERROR',
    requestId: response.getHeader(requestIdHeader) ?? `req_${randomUUID()}`,
    ...(error instanceof Refusal ? { details: error.details } : {}),
  });
};

/** The values are assumed (spec: part A section 8). */
function toRateLimit(error: AppError): Record<string, string> {
  const seconds = String(Math.ceil((error.retryAfterMs ?? 1000) / 1000));
  const limit = String(error instanceof Refusal ? error.details['limit'] : 60);
  const names = { 'X-RateLimit-Limit': limit, 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': seconds };
  return { 'Retry-After': seconds, ...names };
}

const oauthErrors: Partial<Record<ErrorCode, Reason>> = {
  invalid: 'invalid_request',
  rate_limited: 'rate_limit_exceeded',
};

function answerOAuth(response: Response, error: AppError): void {
  const reason = error instanceof Refusal ? error.details['reason'] : undefined;
  response.json({ error: reason ?? oauthErrors[error.code] ?? 'server_error', error_description: error.message });
}

/** A request that express cannot read: bad JSON, a bad path, or a body that is too large. */
function isRefusedByExpress(thrown: unknown): thrown is Error {
  return thrown instanceof Error && !(thrown instanceof AppError) && 'status' in thrown && Number(thrown.status) < 500;
}

function toUnreadable(cause: Error): AppError {
  return new AppError('invalid', `The request could not be read: ${cause.message}`, { cause });
}
