import type { Context } from '../../context.ts';
import { createInstallLanes } from '../../db/install-lanes.ts';
import type { NewDelivery } from '../../domain/delivery.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Loop } from '../../lib/loop.ts';
import { maskText } from '../../lib/mask.ts';
import { backoffMs } from '../../lib/retry.ts';
import type { Update } from '../../sources/source.ts';
import { type Feed, findDueFeed, installsWithFeedsDue, keepFeed, wantFeedRead } from './feed-store.ts';

/**
 * Reads the feeds of the sources that have one. The feed is the ledger, and a delivery is the doorbell: what was
 * delivered is in the feed too, and what was lost is only there (docs/rules.md, Reconciling).
 */
export interface FeedWorker extends Loop {
  /** Call it when a delivery of an install was stored. It only writes to memory. */
  ring(install: string): void;
}

/** Where a feed is read into. */
export interface FeedPorts {
  append: Inbox['append'];
  /** Why nothing more of an install may be stored now; undefined if it may. */
  wouldDefer(install: string): Promise<string | undefined>;
}

/** How many feeds are read at the same time. */
const feedsAtOnce = 8;
/** A page with its retries. A dead worker delays a reading by at most this long. */
const leaseMs = 90_000;
const stallMs = 5 * 60_000;
const deferredMs = 60_000;

export function createFeedWorker(ctx: Context, ports: FeedPorts): FeedWorker {
  const { sources, clock } = ctx;
  const rung = new Set<string>();
  const loop = createInstallLanes(ctx, {
    name: 'feed',
    stallMs,
    leaseMs,
    atOnce: feedsAtOnce,
    async due() {
      for (const install of rung) {
        rung.delete(install);
        await wantFeedRead(ctx, install, toInstant(clock.now()));
      }
      const having = [...sources].flatMap(([install, { readUpdates }]) => (readUpdates === undefined ? [] : [install]));
      return await installsWithFeedsDue(ctx, having, toInstant(clock.now()));
    },
    work: (install, signal) => readFeed(ctx, ports, install, signal),
  });
  return {
    ...loop,
    ring(install) {
      if (sources.get(install)?.readUpdates === undefined) return;
      rung.add(install);
      loop.wake();
    },
  };
}

/**
 * Reads one page of a feed. It stores the page, and only then moves the cursor: after a crash between the two the page
 * is read again, and each of its events is known by its digest.
 *
 * @returns false if the feed is not due
 */
export async function readFeed(ctx: Context, ports: FeedPorts, install: string, signal: AbortSignal): Promise<boolean> {
  const { sources, clock } = ctx;
  const feed = await findDueFeed(ctx, install, toInstant(clock.now()));
  if (feed === undefined) return false;
  try {
    const readUpdates = sources.get(install)?.readUpdates;
    if (readUpdates === undefined) throw new AppError('not_found', `Install ${install} no longer has a feed`);
    const deferral = await ports.wouldDefer(install);
    if (deferral !== undefined) {
      const message = `The feed waits while nothing more may be stored for ${install}`;
      throw new AppError('rate_limited', message, { retryAfterMs: deferredMs });
    }
    const readAt = toInstant(clock.now());
    const { updates, cursor, hasMore } = await readUpdates(feed.cursor, signal);
    await store(ctx, ports, install, updates, readAt);
    const nextReadAt = hasMore ? toInstant(clock.now()) : instantIn(clock, ctx.config.feed.everyMs);
    await keepFeed(ctx, feed, { cursor, readAt, nextReadAt, failures: 0, failure: null, failingSince: null });
  } catch (thrown) {
    if (!signal.aborted) await postpone(ctx, feed, toAppError(thrown));
  }
  return true;
}

async function postpone(ctx: Context, feed: Feed, error: AppError): Promise<void> {
  const { clock, logger, config } = ctx;
  const { install, readAt } = feed;
  logger.warn({ err: error, install }, 'The feed could not be read');
  const failingSince = feed.failingSince ?? toInstant(clock.now());
  const failure = maskText(error.message);
  const failures = feed.failures + 1;
  const nextReadAt = instantIn(clock, Math.max(config.feed.everyMs, backoffMs(failures), error.retryAfterMs ?? 0));
  // What is stored already is known again, so nothing is lost by starting over.
  const cursor = cursorRefusals.has(error.status) ? null : feed.cursor;
  await keepFeed(ctx, feed, { cursor, readAt, nextReadAt, failures, failure, failingSince });
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
