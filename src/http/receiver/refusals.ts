import { finished } from 'node:stream';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { AppError, httpStatusOf, toAppError } from '../../domain/errors.ts';
import type { Alerts } from '../../lib/alerts.ts';
import type { Clock } from '../../lib/clock.ts';
import { badRequestStatusOf } from '../../lib/http-server.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { createQuiet, type Quiet } from '../../lib/quiet.ts';
import type { RefusalReason } from './delivery-headers.ts';

/** The body of every refusal: `{"error", "code"}`. */
export function sendError(response: Response, error: AppError): void {
  setHead(response, error).json({ error: error.message, code: error.code });
}

/** How long the rest of a request is read and discarded before the connection is closed. */
const lingerMs = 500;

/**
 * Answers a request without reading its body first. The connection is then closed, because the unread body would block
 * the next request on it. It is closed only when the sender has finished, or a moment later: closing it while bytes
 * arrive would lose the answer.
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

/** Logs an internal error, at most once a minute. The sender does not see it. */
export function createErrorHandler(logger: Logger, quiet: Quiet): ErrorRequestHandler {
  return (thrown, _request, response, next) => {
    if (response.headersSent) return next(thrown);
    if (badRequestStatusOf(thrown) !== undefined) {
      return sendError(response, new AppError('invalid', 'The request could not be read'));
    }
    const { code } = toAppError(thrown);
    const alsoFailed = quiet.letThrough(`failed ${code}`);
    if (alsoFailed !== null) {
      logger.error({ err: thrown, alsoFailed }, 'Request failed');
    }
    sendError(response, new AppError(code, 'The request could not be handled now'));
  };
}

export interface ReportingParts {
  metrics: Metrics;
  logger: Logger;
  alerts: Alerts;
  clock: Clock;
  /** Called when no secret matches a signature, at most once a minute for each known install. */
  onUnmatched(install: string): void;
}

const alertQuietMs = 3_600_000;

const refusalHints: Record<RefusalReason, string> = {
  missing: 'there is no signature header: is something else calling, or does a proxy drop headers?',
  malformed: 'the signature header is not t=<seconds>,v1=<hex>: does a proxy rewrite headers?',
  too_old: 'the signature is over 300 s old: is this clock ahead, or does a proxy hold requests back?',
  too_new: 'the signature is over 300 s in the future: is this clock behind?',
  no_secret_matched:
    'no configured secret matches the signature: was the endpoint re-created, or does a proxy change the body?',
};

const deferralHints = {
  bytes_in_flight: 'too many request bodies are in memory: is this address being flooded?',
  rate: 'it sent more deliveries in a minute than receiver.limits allows for one install',
  stored_bytes: 'it has stored as much as receiver.limits.storedBytes allows for one install',
  disk_reserve: 'the disk is nearly full, and it has used its share of what is left',
};

/** Why a sender has to try again later. */
export type DeferralReason = keyof typeof deferralHints;

/**
 * Reports the requests that are refused or deferred: one log line a minute for each install and reason, with the number
 * of requests that were not logged, so that a sender cannot fill the disk with log lines. The install is empty if it is
 * unknown, because a stranger chose its name.
 */
export function createReports({ metrics, logger, alerts, clock, onUnmatched }: ReportingParts) {
  const quiet = createQuiet(clock);
  const alertQuiet = createQuiet(clock, alertQuietMs);
  return {
    refused(install: string, reason: RefusalReason): void {
      metrics.refusals.inc({ install, reason });
      const alsoRefused = quiet.letThrough(`refused ${install} ${reason}`);
      if (alsoRefused === null) return;
      const subject = { install: install || '(unknown)', reason, hint: refusalHints[reason], alsoRefused };
      logger.warn(subject, 'A request was refused');
      if (reason === 'no_secret_matched' && install !== '') onUnmatched(install);
    },
    /** Also raises an alert, at most one an hour, if an operator must act. */
    deferred(install: string, reason: DeferralReason): void {
      metrics.deferrals.inc({ install, reason });
      const alsoDeferred = quiet.letThrough(`deferred ${install} ${reason}`);
      if (alsoDeferred === null) return;
      const subject = { install: install || '(unknown)', reason, hint: deferralHints[reason] };
      logger.warn({ ...subject, alsoDeferred }, 'A request was deferred');
      if (reason !== 'stored_bytes' && reason !== 'disk_reserve') return;
      if (alertQuiet.letThrough(`${install} ${reason}`) === null) return;
      const kind = reason === 'stored_bytes' ? 'storage_used_up' : 'disk_short';
      alerts.raise(kind, subject);
    },
  };
}
