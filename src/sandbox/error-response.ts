import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Response } from 'express';
import { AppError, type ErrorCode, httpStatusOf, toAppError } from '../domain/errors.ts';

/** An error that the platform API answers with `details`. */
export class Refusal extends AppError {
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown>) {
    super(code, message);
    this.details = details;
  }
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

export const requestIdHeader = 'x-request-id';

/** Answers each failure with the error body of the platform API. Express recognises it by its four parameters. */
export const answerError: ErrorRequestHandler = (thrown, _request, response: Response, _next) => {
  const error = isRefusedByExpress(thrown) ? toUnreadable(thrown) : toAppError(thrown);
  const code = platformCodes[error.code];
  response.status(code === undefined ? 500 : httpStatusOf(error.code)).json({
    error: error.message,
    code: code ?? 'INTERNAL_ERROR',
    requestId: response.getHeader(requestIdHeader) ?? `req_${randomUUID()}`,
    ...(error instanceof Refusal ? { details: error.details } : {}),
  });
};

/** A request that express cannot read: bad JSON, a bad path, or a body that is too large. */
function isRefusedByExpress(thrown: unknown): thrown is Error {
  return thrown instanceof Error && !(thrown instanceof AppError) && 'status' in thrown && Number(thrown.status) < 500;
}

function toUnreadable(cause: Error): AppError {
  return new AppError('invalid', `The request could not be read: ${cause.message}`, { cause });
}
