import { finished } from 'node:stream';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { AppError, httpStatusOf, toAppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Quiet } from '../lib/quiet.ts';

/** What every refusal looks like: `{"error", "code"}` (design section 3). */
export function sendError(response: Response, error: AppError): void {
  setHead(response, error).json({ error: error.message, code: error.code });
}

/** How long what a sender is still sending is thrown away before the connection is closed. */
const lingerMs = 500;

/**
 * Answers a request whose body is not wanted, at once. What was not read stands in the way of the
 * connection's next request, so it is closed: when the sender has finished or a moment later, as
 * closing on bytes that still arrive would take the answer along.
 */
export function refuseUnread(request: Request, response: Response, error: AppError): void {
  const body = Buffer.from(JSON.stringify({ error: error.message, code: error.code }));
  setHead(response, error).set('Connection', 'close').type('json').set('Content-Length', `${body.length}`);
  response.write(body);
  const lingering = setTimeout(() => response.end(), lingerMs);
  finished(request.resume(), () => {
    clearTimeout(lingering);
    response.end();
  });
}

function setHead(response: Response, { code, retryAfterMs }: AppError): Response {
  if (retryAfterMs !== undefined) response.set('Retry-After', `${Math.ceil(retryAfterMs / 1000)}`);
  return response.status(httpStatusOf(code));
}

/** What went wrong inside is for the log, once a minute, not for whoever asked. */
export function createErrorHandler(logger: Logger, quiet: Quiet): ErrorRequestHandler {
  return (thrown, _request, response, next) => {
    if (response.headersSent) return next(thrown);
    if (isBadRequest(thrown)) {
      return sendError(response, new AppError('invalid', 'The request could not be read'));
    }
    const { code } = toAppError(thrown);
    const alsoFailed = quiet.letThrough(`failed ${code}`);
    if (alsoFailed !== null) {
      logger.error({ err: thrown, alsoFailed }, 'A request could not be answered as meant');
    }
    sendError(response, new AppError(code, 'The request could not be handled now'));
  };
}

/** Express marks what the client got wrong with a status. */
function isBadRequest(thrown: unknown): boolean {
  const { status } = thrown as { status?: unknown };
  return !(thrown instanceof AppError) && typeof status === 'number' && status < 500;
}
