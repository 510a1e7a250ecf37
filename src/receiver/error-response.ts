import { finished } from 'node:stream';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { AppError, httpStatusOf, toAppError } from '../domain/errors.ts';
import type { Logger, Quiet } from '../lib/logger.ts';

/** The body of every refusal: `{"error", "code"}`. */
export function sendError(response: Response, error: AppError): void {
  setHead(response, error).json({ error: error.message, code: error.code });
}

/** How long the rest of a request is read and thrown away before the connection is closed. */
const lingerMs = 500;

/**
 * Answers a request at once without reading its body. The unread body blocks the next request on the
 * connection, so the connection is closed: when the sender has finished or a moment later, because
 * closing it while bytes arrive would lose the answer.
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

/** An internal error goes to the log, once a minute, and not to the sender. */
export function createErrorHandler(logger: Logger, quiet: Quiet): ErrorRequestHandler {
  return (thrown, _request, response, next) => {
    if (response.headersSent) return next(thrown);
    if (isBadRequest(thrown)) {
      return sendError(response, new AppError('invalid', 'The request could not be read'));
    }
    const { code } = toAppError(thrown);
    const alsoFailed = quiet.letThrough(`failed ${code}`);
    if (alsoFailed !== null) {
      logger.error({ err: thrown, alsoFailed }, 'A request could not be handled');
    }
    sendError(response, new AppError(code, 'The request could not be handled now'));
  };
}

/** Express sets a status on errors that the client caused. */
function isBadRequest(thrown: unknown): boolean {
  const { status } = thrown as { status?: unknown };
  return !(thrown instanceof AppError) && typeof status === 'number' && status < 500;
}
