import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import getRawBody from 'raw-body';
import { type Appended, maxBodyBytes } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { isCompressed } from '../lib/http-server.ts';
import type { Quiet } from '../lib/quiet.ts';
import { type ByteShare, createByteBudget, createRateLimit, type Rates } from './limits.ts';
import { createMarketplaceHeaders, createRecentIds, keepHeaders } from './marketplace-headers.ts';
import { createReports, type DeferralReason, type ReportingParts, refuseUnread, sendError } from './refusals.ts';
import type { StorageGate } from './storage-gate.ts';
import { isSignedWith, type RefusalReason, readSignature, type Signature } from './verify-signature.ts';

export interface WebhookParts extends ReportingParts {
  inbox: Inbox;
  /** Called when a delivery was stored, before it is answered. It only writes to memory. */
  onStored?(install: string): void;
  /** The secrets with which a delivery to an install may be signed; undefined if there is no such install. */
  secretsOf(install: string): readonly string[] | undefined;
  /** Loads the secrets that another process has stored up to now. */
  loadInstalls(signal: AbortSignal): Promise<void>;
  headerPrefixes: readonly string[];
  /** The bodies of all requests under way together, if they may not be as many as usual. */
  inFlightBytes?: number | undefined;
  limits: Rates;
  storageGate: Pick<StorageGate, 'check'>;
  /** The clock of this machine, which decides whether a signature is too old. */
  clock: Clock;
  /** The clock of the times that are stored. */
  databaseClock: Clock;
}

/** 256 of the largest. */
const usualInFlightBytes = 64 * 1024 * 1024;
const loadTimeoutMs = 1000;
/** By then the requests that are in memory now are answered or cut off. */
const roomAfterMs = 10_000;

/**
 * `POST /webhooks/:install` (docs/rules.md, Receiving): first the headers, then raw bytes, signature and
 * meaning. The delivery is durable before the answer, and the answer never waits for a tool.
 */
export function createWebhookRoute(parts: WebhookParts, quiet: Quiet): RequestHandler {
  const desk = openDesk(parts, quiet);
  return async (request, response) => {
    const fault = findFault(request);
    if (fault !== undefined) return refuseUnread(request, response, fault);
    const install = installOf(request);
    const signatures = desk.headers.signaturesOf(request.headers);
    const read = readSignature(signatures, Math.floor(desk.clock.now().getTime() / 1000));
    if (read.outcome === 'refused') {
      return refuseUnread(request, response, notSigned(desk, install, read.reason));
    }
    const share = desk.budget.open(install);
    try {
      await takeDelivery(desk, { request, response, install, signature: read.signature, share });
    } finally {
      share.release();
    }
  };
}

type Desk = ReturnType<typeof openDesk>;

function openDesk(parts: WebhookParts, quiet: Quiet) {
  return {
    ...parts,
    quiet,
    /** Used instead of the secret of an unknown install. */
    decoySecret: randomBytes(32).toString('hex'),
    headers: createMarketplaceHeaders(parts.headerPrefixes),
    budget: createByteBudget(parts.inFlightBytes ?? usualInFlightBytes),
    rates: createRateLimit(parts.limits, parts.clock),
    recentIds: createRecentIds(),
    reports: createReports(parts),
  };
}

interface Exchange {
  request: Request;
  response: Response;
  /** As in the path; such an install may not exist. */
  install: string;
  signature: Signature;
  share: ByteShare;
}

async function takeDelivery(desk: Desk, exchange: Exchange): Promise<void> {
  const { request, response, install, signature, share } = exchange;
  const read = await readBody(request, maxBodyBytes, share.take);
  if (read.outcome === 'broken_off') return;
  if (read.outcome === 'too_large') return refuseUnread(request, response, tooLarge());
  if (read.outcome === 'no_room') {
    return refuseUnread(request, response, noRoom(desk, install));
  }
  const { body } = read;
  const readAt = performance.now();
  if (!(await isSigned(desk, install, signature, body))) {
    return sendError(response, notSigned(desk, install, 'no_secret_matched'));
  }
  const deferral = await findDeferral(desk, install, body.length);
  if (deferral !== undefined) return sendError(response, deferral);
  const status = await store(desk, install, request, body);
  desk.onStored?.(install);
  desk.metrics.deliveries.inc({ install, status });
  desk.metrics.answerSeconds.observe((performance.now() - readAt) / 1000);
  response.json({ status });
}

/** The purge runs every ten minutes. */
const storageFullMs = 600_000;

/**
 * Keeps one install from using the capacity of the others. It is asked only after the signature was verified, because a
 * stranger must not use up what an install may have.
 */
async function findDeferral(
  { rates, storageGate, reports }: Desk,
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

/**
 * Before a refusal, the secrets are loaded once more: a command such as `gangway connect` may have made an
 * endpoint and stored its secret a moment ago.
 */
async function isSigned(
  { secretsOf, decoySecret, loadInstalls }: Desk,
  install: string,
  signature: Signature,
  body: Buffer,
): Promise<boolean> {
  const known = secretsOf(install);
  if (isSignedWith(known ?? [decoySecret], signature, body)) return true;
  // Where the database cannot be read, the secrets that are known decide.
  await loadInstalls(AbortSignal.timeout(loadTimeoutMs)).catch(() => undefined);
  const loaded = secretsOf(install);
  return loaded !== undefined && loaded !== known && isSignedWith(loaded, signature, body);
}

/** Names of installs need no encoding, so nothing is decoded. */
function installOf({ path }: Request): string {
  return path.split('/', 3)[2] ?? '';
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

function tooLarge(): AppError {
  return new AppError('too_large', 'The body is larger than 256 KiB');
}

function notSigned(desk: Desk, install: string, reason: RefusalReason): AppError {
  desk.reports.refused(knownName(desk, install), reason);
  return new AppError('unauthenticated', 'The signature is not valid');
}

function noRoom(desk: Desk, install: string): AppError {
  desk.reports.deferred(knownName(desk, install), 'bytes_in_flight');
  const message = 'Too many requests are under way';
  return new AppError('unavailable', message, { retryAfterMs: roomAfterMs });
}

/** Empty for an unknown install, because a name that a stranger chose is not logged. */
function knownName({ secretsOf }: Desk, install: string): string {
  return secretsOf(install) === undefined ? '' : install;
}

async function store(
  { inbox, headers, recentIds, metrics, logger, quiet, databaseClock }: Desk,
  install: string,
  request: Request,
  body: Buffer,
): Promise<Appended['status']> {
  const deliveryId = headers.deliveryIdOf(request.headers);
  const { status } = await inbox.append({
    install,
    body,
    headers: keepHeaders(request.headers, headers.names),
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

type ReadBody =
  | { outcome: 'read'; body: Buffer }
  | { outcome: 'too_large' }
  | { outcome: 'no_room' }
  | { outcome: 'broken_off' };

/** The memory that a chunk takes beside its bytes. A body that is sent byte by byte takes mostly this. */
const pieceBytes = 256;

/**
 * Reads a whole body and asks for room for each chunk when it arrives, because the announced length
 * costs a sender nothing. A body that is refused is not read to its end.
 */
async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  hasRoom: (bytes: number) => boolean,
): Promise<ReadBody> {
  const onData = (piece: Buffer) => {
    if (!hasRoom(piece.length + pieceBytes)) request.emit('error', new NoRoom());
  };
  request.on('data', onData);
  try {
    const length = request.headers['content-length'] ?? null;
    return { outcome: 'read', body: await getRawBody(request, { length, limit: maxBytes }) };
  } catch (error) {
    if (error instanceof NoRoom) return { outcome: 'no_room' };
    const isTooLarge = (error as { type?: unknown }).type === 'entity.too.large';
    return { outcome: isTooLarge ? 'too_large' : 'broken_off' };
  } finally {
    request.off('data', onData);
  }
}

class NoRoom extends Error {
  override readonly message = 'too many bytes are under way';
}
