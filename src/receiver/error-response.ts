import type { ErrorRequestHandler, Response } from 'express';
import { AppError, httpStatusOf, toAppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Quiet } from '../lib/quiet.ts';

/** What every refusal looks like: `{"error", "code"}` (design section 3). */
export function sendError(response: Response, { code, message }: AppError): void {
  response.status(httpStatusOf(code)).json({ error: message, code });
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

/** Express and raw-body mark what the client got wrong with a status. */
function isBadRequest(thrown: unknown): boolean {
  const { status } = thrown as { status?: unknown };
  return !(thrown instanceof AppError) && typeof status === 'number' && status < 500;
}
