import type { Context } from '../../context.ts';
import type { NewDelivery } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import type { JobKind } from '../../jobs/job.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Update } from '../../marketplace/source.ts';
import { type Feed, findFeed, keepFeed } from './feed-store.ts';

/** Where a feed is read into. */
export interface FeedPorts {
  append: Inbox['append'];
  /** Why nothing more of an install may be stored now; undefined if it may. */
  wouldDefer(install: string): Promise<string | undefined>;
}

/**
 * Reads the feeds of the sources that have one. The feed is the ledger, and a delivery is the doorbell: what was
 * delivered is in the feed too, and what was lost is only there (docs/rules.md, Reconciling).
 */
export function feedJob(ports: FeedPorts): JobKind {
  return {
    name: 'feed',
    atOnce: 8,
    // A page with its retries.
    leaseMs: 90_000,
    stallMs: 5 * 60_000,
    isStanding: true,
    installs: ({ sources }) =>
      [...sources].flatMap(([install, { readUpdates }]) => (readUpdates === undefined ? [] : [install])),
    restMs: ({ config }) => config.feed.everyMs,
    run: (ctx, { install }, signal) => readFeed(ctx, ports, install, signal),
  };
}

const deferredMs = 60_000;

/**
 * Reads one page of a feed. It stores the page, and only then moves the cursor: after a crash between the two the page
 * is read again, and each of its events is known by its digest.
 */
async function readFeed(ctx: Context, ports: FeedPorts, install: string, signal: AbortSignal): Promise<number> {
  const { sources, clock } = ctx;
  const feed = await findFeed(ctx, install);
  if (feed === undefined) return ctx.config.feed.everyMs;
  const readUpdates = sources.get(install)?.readUpdates;
  if (readUpdates === undefined) throw new AppError('not_found', `Install ${install} no longer has a feed`);
  const deferral = await ports.wouldDefer(install);
  if (deferral !== undefined) {
    const message = `The feed waits while nothing more may be stored for ${install}`;
    throw new AppError('rate_limited', message, { retryAfterMs: deferredMs });
  }
  const readAt = toInstant(clock.now());
  const { updates, cursor, hasMore } = await readUpdates(feed.cursor, signal).catch((error: unknown) =>
    startOver(ctx, feed, error),
  );
  await store(ctx, ports, install, updates, readAt);
  await keepFeed(ctx, feed, { cursor, readAt });
  return hasMore ? 0 : ctx.config.feed.everyMs;
}

/** What is stored already is known again, so nothing is lost by reading from the beginning. */
async function startOver(ctx: Context, feed: Feed, error: unknown): Promise<never> {
  if (error instanceof AppError && cursorRefusals.has(error.status)) await keepFeed(ctx, feed, { cursor: null });
  throw error;
}

/** The statuses by which a server refuses a cursor: it is invalid, or no longer known. */
const cursorRefusals: ReadonlySet<number | undefined> = new Set([400, 404, 410, 422]);

/** Events that are older than the retention are counted and not stored: what they say may have been undone since. */
async function store(
  { clock, config, metrics }: Context,
  { append }: FeedPorts,
  install: string,
  updates: readonly Update[],
  receivedAt: string,
): Promise<void> {
  const oldest = instantIn(clock, -config.retention.deliveriesMs);
  const isStored = ({ createdAt }: Update) => createdAt === null || createdAt >= oldest;
  const appended = await Promise.all(
    updates.filter(isStored).map(({ body }) => append(toDelivery(install, body, receivedAt))),
  );
  for (const { status } of appended) metrics.feedEvents.inc({ install, status });
  metrics.feedEvents.inc({ install, status: 'old' }, updates.length - appended.length);
}

/** It has no headers, and no id of a delivery. */
function toDelivery(install: string, body: string, receivedAt: string): NewDelivery {
  return { install, body: Buffer.from(body), headers: '{}', deliveryId: null, receivedAt };
}
