import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import getRawBody from 'raw-body';
import { type Appended, maxBodyBytes } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { isCompressed } from '../../lib/http-server.ts';
import { createQuiet, type Quiet } from '../../lib/quiet.ts';
import type { Readiness } from '../../lib/readiness.ts';
import {
  createMarketplaceHeaders,
  createRecentIds,
  isSignedWith,
  type RefusalReason,
  readSignature,
  type Signature,
} from './delivery-headers.ts';
import { createByteBudget, createRateLimit, type Rates, type StorageGate } from './limits.ts';
import {
  createErrorHandler,
  createReports,
  type DeferralReason,
  type ReportingParts,
  refuseUnread,
  sendError,
} from './refusals.ts';

export interface ReceiverParts extends ReportingParts {
  readiness: Readiness;
  inbox: Inbox;
  /** Called after a delivery is stored and before it is answered. It only writes to memory. */
  onStored?(install: string): void;
  /** The secrets that may sign a delivery to an install; undefined if there is no such install. */
  secretsOf(install: string): readonly string[] | undefined;
  /** Loads the secrets that other processes have stored. */
  loadInstalls(signal: AbortSignal): Promise<void>;
  headerPrefixes: readonly string[];
  /** How many bytes of bodies may be in memory at once; 64 MiB by default. */
  inFlightBytes?: number | undefined;
  limits: Rates;
  storageGate: Pick<StorageGate, 'check'>;
  /** This machine's clock, which decides whether a signature is too old. */
  clock: Clock;
  /** The clock of stored times. */
  databaseClock: Clock;
}

/** Not a route parameter: Express would decode it, and would answer differently where it cannot. */
const webhookPath = /^\/webhooks\/[^/]+\/?$/;

/**
 * The public listener. A delivery that it answers with 200 is stored. A request that it cannot trust costs no more than
 * a counter. No answer waits for a tool.
 */
export function createReceiverApp(parts: ReceiverParts): Express {
  const quiet = createQuiet(parts.clock);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');

  app
    .route(webhookPath)
    .post(createWebhookRoute(parts, quiet))
    .all((_request, response) => {
      response.set('Allow', 'POST').set('Connection', 'close');
      sendError(response, new AppError('method_not_allowed', 'Deliveries come by POST'));
    });

  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  // Ready means only that a delivery can be stored now.
  app.get('/readyz', async (_request, response) => {
    const status = await parts.readiness.ask();
    response.status(status === 'ok' ? 200 : 503).json({ status });
  });

  app.use((_request, response) => {
    response.set('Connection', 'close');
    sendError(response, new AppError('not_found', 'There is nothing at this address'));
  });
  app.use(createErrorHandler(parts.logger, quiet));
  return app;
}

/** 256 bodies of the largest size. */
const usualInFlightBytes = 64 * 1024 * 1024;

/**
 * `POST /webhooks/:install` (docs/rules.md, Receiving) checks the headers, then the signature over the raw bytes, then
 * what they mean. The delivery is durable before the answer, and the answer never waits for a tool.
 */
function createWebhookRoute(parts: ReceiverParts, quiet: Quiet): RequestHandler {
  const route = createRouteState(parts, quiet);
  return async (request, response) => {
    const fault = findFault(request);
    if (fault !== undefined) return refuseUnread(request, response, fault);
    const install = installOf(request);
    const signatures = route.headers.signaturesOf(request.headers);
    const read = readSignature(signatures, Math.floor(route.clock.now().getTime() / 1000));
    if (read.outcome === 'refused') {
      return refuseUnread(request, response, notSigned(route, install, read.reason));
    }
    const share = route.budget.open(install);
    try {
      const body = await readBody(request, share.take);
      if (body === 'broken_off') return;
      if (body === 'too_large') return refuseUnread(request, response, tooLarge());
      if (body === 'no_room') return refuseUnread(request, response, noRoom(route, install));
      await takeDelivery(route, { request, response, install, signature: read.signature, body });
    } finally {
      share.release();
    }
  };
}

type RouteState = ReturnType<typeof createRouteState>;

function createRouteState(parts: ReceiverParts, quiet: Quiet) {
  return {
    ...parts,
    quiet,
    /** Used in place of the secret of an unknown install. */
    decoySecret: randomBytes(32).toString('hex'),
    headers: createMarketplaceHeaders(parts.headerPrefixes),
    budget: createByteBudget(parts.inFlightBytes ?? usualInFlightBytes),
    rates: createRateLimit(parts.limits, parts.clock),
    recentIds: createRecentIds(),
    reports: createReports(parts),
  };
}

function findFault({ headers }: Request): AppError | undefined {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1);
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    return new AppError('unsupported_media_type', 'The content type must be application/json');
  }
  if (isCompressed(headers['content-encoding'])) {
    return new AppError('unsupported_media_type', 'The body must not be compressed');
  }
  return Number(headers['content-length'] ?? 0) > maxBodyBytes ? tooLarge() : undefined;
}

/** Names of installs need no encoding, so nothing is decoded. */
function installOf({ path }: Request): string {
  return path.split('/', 3)[2] ?? '';
}

/** The memory that a chunk takes beside its bytes. It is most of what a body sent byte by byte takes. */
const chunkOverheadBytes = 256;

const outOfRoom = new Error('Too many bytes of bodies are in memory');

/**
 * Reads a whole body. Room is taken for each chunk when it arrives, because announcing a length costs a sender nothing.
 * A body that is refused is not read to its end.
 */
async function readBody(
  request: IncomingMessage,
  hasRoom: (bytes: number) => boolean,
): Promise<Buffer | 'too_large' | 'no_room' | 'broken_off'> {
  const onData = (chunk: Buffer) => {
    if (!hasRoom(chunk.length + chunkOverheadBytes)) request.emit('error', outOfRoom);
  };
  request.on('data', onData);
  try {
    const length = request.headers['content-length'] ?? null;
    return await getRawBody(request, { length, limit: maxBodyBytes });
  } catch (error) {
    if (error === outOfRoom) return 'no_room';
    return (error as { type?: unknown }).type === 'entity.too.large' ? 'too_large' : 'broken_off';
  } finally {
    request.off('data', onData);
  }
}

interface Exchange {
  request: Request;
  response: Response;
  /** From the path; there may be no such install. */
  install: string;
  signature: Signature;
  body: Buffer;
}

async function takeDelivery(route: RouteState, exchange: Exchange): Promise<void> {
  const { request, response, install, signature, body } = exchange;
  const readAt = performance.now();
  if (!(await isSigned(route, install, signature, body))) {
    return sendError(response, notSigned(route, install, 'no_secret_matched'));
  }
  const deferral = await findDeferral(route, install, body.length);
  if (deferral !== undefined) return sendError(response, deferral);
  const status = await store(route, install, request, body);
  route.onStored?.(install);
  route.metrics.deliveries.inc({ install, status });
  route.metrics.answerSeconds.observe((performance.now() - readAt) / 1000);
  response.json({ status });
}

const loadTimeoutMs = 1000;

/**
 * Before a signature is refused, the secrets are loaded once more: a command such as `gangway connect` may have just
 * created an endpoint and stored its secret.
 */
async function isSigned(
  { secretsOf, decoySecret, loadInstalls }: RouteState,
  install: string,
  signature: Signature,
  body: Buffer,
): Promise<boolean> {
  const known = secretsOf(install);
  if (isSignedWith(known ?? [decoySecret], signature, body)) return true;
  // If the database cannot be read, the secrets in memory decide.
  await loadInstalls(AbortSignal.timeout(loadTimeoutMs)).catch(() => undefined);
  const loaded = secretsOf(install);
  return loaded !== undefined && loaded !== known && isSignedWith(loaded, signature, body);
}

/** The purge runs every ten minutes. */
const storageFullMs = 600_000;

/** Checked only once the signature is verified, because a stranger must not use up an install's limits. */
async function findDeferral(
  { rates, storageGate, reports }: RouteState,
  install: string,
  bytes: number,
): Promise<AppError | undefined> {
  const defer = (reason: DeferralReason, message: string, retryAfterMs: number) => {
    reports.deferred(install, reason);
    return new AppError('rate_limited', message, { retryAfterMs });
  };
  const waitMs = rates.take(install, bytes);
  if (waitMs > 0) return defer('rate', 'There were too many deliveries in a short time', waitMs);
  const reason = await storageGate.check(install, bytes);
  return reason && defer(reason, 'No more deliveries can be stored for this install now', storageFullMs);
}

async function store(
  { inbox, headers, recentIds, metrics, logger, quiet, databaseClock }: RouteState,
  install: string,
  request: Request,
  body: Buffer,
): Promise<Appended['status']> {
  const deliveryId = headers.deliveryIdOf(request.headers);
  const { status } = await inbox.append({
    install,
    body,
    headers: headers.toStored(request.headers),
    deliveryId,
    receivedAt: toInstant(databaseClock.now()),
  });
  const isNew = status !== 'duplicate' && deliveryId !== null;
  if (isNew && recentIds.meet(install, deliveryId)) metrics.reusedDeliveryIds.inc({ install });
  const alsoKept = status === 'unprocessable' ? quiet.letThrough(`unread ${install}`) : null;
  if (alsoKept !== null) {
    logger.warn({ install, alsoKept }, 'A signed delivery could not be read as an event; it is kept');
  }
  return status;
}

function tooLarge(): AppError {
  return new AppError('too_large', 'The body is larger than 256 KiB');
}

function notSigned(route: RouteState, install: string, reason: RefusalReason): AppError {
  route.reports.refused(knownName(route, install), reason);
  return new AppError('unauthenticated', 'The signature is not valid');
}

/** By then, the requests that are in memory now are answered or cut off. */
const roomAfterMs = 10_000;

function noRoom(route: RouteState, install: string): AppError {
  route.reports.deferred(knownName(route, install), 'bytes_in_flight');
  return new AppError('unavailable', 'Too many requests are in progress', { retryAfterMs: roomAfterMs });
}

/** Empty for an unknown install, because a name that a stranger chose is not logged. */
function knownName({ secretsOf }: RouteState, install: string): string {
  return secretsOf(install) === undefined ? '' : install;
}
