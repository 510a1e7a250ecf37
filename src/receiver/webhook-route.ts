import type { KeyObject } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import getRawBody from 'raw-body';
import type { Appended } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quiet } from '../lib/quiet.ts';
import { sendError } from './error-response.ts';
import { keepHeaders, type MarketplaceHeaders } from './marketplace-headers.ts';
import type { RefusalLog } from './refusal-log.ts';
import type { SigningKeys } from './signing-keys.ts';
import { verifySignature } from './verify-signature.ts';

export interface WebhookRouteDeps {
  inbox: Inbox;
  signingKeys: SigningKeys;
  /** Stands in for the secret of an install that does not exist. */
  decoySecret: KeyObject;
  headers: MarketplaceHeaders;
  refusals: RefusalLog;
  quiet: Quiet;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
}

const maxBodyBytes = 256 * 1024;

/**
 * `POST /webhooks/:install` (design section 3): raw bytes, signature, then meaning; durable before
 * the answer; never waiting for a tool.
 */
export function createWebhookRoute(deps: WebhookRouteDeps): RequestHandler {
  const { metrics } = deps;
  return async (request, response) => {
    const unsupported = findUnsupported(request);
    if (unsupported !== undefined) return refuseUnread(response, unsupported);
    const body = await readBody(request);
    if (body === undefined) {
      return refuseUnread(response, new AppError('too_large', 'The body is larger than 256 KiB'));
    }
    const readAt = performance.now();
    const install = installOf(request);
    if (!isSigned(deps, install, request, body)) {
      return sendError(response, new AppError('unauthenticated', 'The signature is not valid'));
    }
    const status = await store(deps, install, request, body);
    metrics.deliveries.inc({ install, status });
    metrics.answerSeconds.observe((performance.now() - readAt) / 1000);
    answer(response, status);
  };
}

const answers = {
  accepted: toAnswer('accepted'),
  duplicate: toAnswer('duplicate'),
  ignored: toAnswer('ignored'),
  unprocessable: toAnswer('unprocessable'),
} satisfies Record<Appended['status'], Buffer>;

function toAnswer(status: Appended['status']): Buffer {
  return Buffer.from(JSON.stringify({ status }));
}

/** There are four, so they lie ready: Express would make each anew. */
function answer(response: Response, status: Appended['status']): void {
  const body = answers[status];
  response
    .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
    .end(body);
}

/** Names need no encoding (`name` in the configuration), so none is undone. */
function installOf({ path }: Request): string {
  return path.split('/', 3)[2] ?? '';
}

function findUnsupported({ headers }: Request): AppError | undefined {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1);
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    return new AppError('unsupported_media_type', 'The content type must be application/json');
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return undefined;
  return new AppError('unsupported_media_type', 'The body must not be compressed');
}

/** What was not read stands in the way of the connection's next request, so it is closed. */
function refuseUnread(response: Response, error: AppError): void {
  response.set('Connection', 'close');
  sendError(response, error);
}

async function readBody(request: Request): Promise<Buffer | undefined> {
  try {
    const length = request.headers['content-length'] ?? null;
    return await getRawBody(request, { length, limit: maxBodyBytes });
  } catch (error) {
    if ((error as { type?: unknown }).type === 'entity.too.large') return undefined;
    throw error;
  }
}

function isSigned(deps: WebhookRouteDeps, install: string, request: Request, body: Buffer) {
  const known = deps.signingKeys.get(install);
  const verification = verifySignature({
    headers: deps.headers.signaturesOf(request.headers),
    body,
    secrets: known ?? [deps.decoySecret],
    now: Math.floor(deps.clock.now().getTime() / 1000),
  });
  if (verification.outcome === 'valid') return true;
  deps.refusals.report(known === undefined ? '' : install, verification.reason);
  return false;
}

async function store(
  { inbox, headers, metrics, logger, quiet, clock }: WebhookRouteDeps,
  install: string,
  request: Request,
  body: Buffer,
): Promise<Appended['status']> {
  const { status, isIdReused } = await inbox.append({
    install,
    body,
    headers: keepHeaders(request.headers, headers.names),
    deliveryId: headers.deliveryIdOf(request.headers),
    receivedAt: toInstant(clock.now()),
  });
  if (isIdReused) metrics.reusedDeliveryIds.inc({ install });
  const alsoKept = status === 'unprocessable' ? quiet.letThrough(`unread ${install}`) : null;
  if (alsoKept !== null) {
    logger.warn(
      { install, alsoKept },
      'A signed delivery is no event that can be read; it is kept',
    );
  }
  return status;
}
