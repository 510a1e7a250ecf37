import { createHash, randomUUID } from 'node:crypto';
import { type Clock, instantIn, systemClock } from '../lib/clock.ts';
import { createFaultDice } from './faults/fault-dice.ts';
import { createSandboxState, type Delivery } from './sandbox-state.ts';
import type { HeaderPrefix } from './send-delivery.ts';

export interface MarketplaceOptions {
  /** The same seed gives the same ids, tokens and secrets, and the same faults. */
  seed?: string;
  /** How much faster than real time the timeline moves. At 0, only `advance` moves it. */
  timeScale?: number;
  /** For timestamps and signatures. */
  clock?: Clock;
  deliveryTimeoutMs?: number;
  headerPrefix?: HeaderPrefix;
  /** `minimal` events have only what part B of the specification guarantees. */
  payloads?: 'full' | 'minimal';
  /** Whether the events of several links about the same change have the same id. */
  sharesEventIds?: boolean;
  /** Whether the lists of contracts have cursors, which the specification does not describe. */
  cursors?: boolean;
  linksPerInstall?: number;
  endpointsPerInstall?: number;
}

export type Marketplace = ReturnType<typeof createMarketplace>;

export function createMarketplace(options: MarketplaceOptions) {
  const { seed = randomUUID(), clock = systemClock, timeScale = 1 } = options;
  return {
    /** Of the site, once it has started. */
    url: '',
    options,
    state: createSandboxState(),
    ids: createIds(seed),
    /** The present instant, or the one in so many milliseconds. */
    now: (inMs = 0) => instantIn(clock, inMs),
    dice: createFaultDice(seed),
    timeline: createTimeline(timeScale),
    /** The unsettled deliveries. */
    open: new Set<Delivery>(),
    /** The attempts that have no outcome yet. */
    inFlight: new Map<Delivery, Promise<void>>(),
    /** Undefined while the sandbox is stopped. */
    running: undefined as AbortController | undefined,
    /** Cancels the timer of the next attempt. */
    cancelTimer: () => {},
  };
}

/**
 * Above 2^53, and the tenth id after it has one more digit, so that a client that orders event ids as numbers or as text
 * gets their order wrong.
 */
const firstEventId = 9_999_999_999_999_990n;

/** The ids and credentials of the marketplace. The same seed gives the same ones. */
function createIds(seed: string) {
  const counts = new Map<string, number>();
  let eventId = firstEventId;

  /** Counted per prefix, so that one more id of one kind does not change the ids of the other kinds. */
  function nextDigest(prefix: string): string {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return createHash('sha256').update(`${seed}:${prefix}:${count}`).digest('hex');
  }

  return {
    /** An opaque id such as `ctr_5f0c…`. */
    next: (prefix: string) => `${prefix}_${nextDigest(prefix).slice(0, 12)}`,
    /** A token or a webhook secret. */
    nextCredential: (prefix: string) => `${prefix}_${nextDigest(prefix).slice(0, 40)}`,
    nextEventId: () => (eventId++).toString(),
  };
}

/** The longest wait of setTimeout. For a later time, `wake` is called early and must wait again. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * The clock of the waits between attempts. It runs `scale` times as fast as real time and can be moved forward; at scale
 * 0, it moves only then. Time-outs, signatures and timestamps use real time.
 */
function createTimeline(scale: number) {
  const startedAtMs = performance.now();
  let movedMs = 0;
  const nowMs = (): number => (performance.now() - startedAtMs) * scale + movedMs;

  return {
    nowMs,
    /** Moves forward to `atMs`, never back. */
    moveTo(atMs: number): void {
      movedMs += Math.max(0, atMs - nowMs());
    },
    /** Calls `wake` once, at `atMs` or earlier; never at scale 0. @returns a function that cancels it */
    wakeAt(atMs: number, wake: () => void): () => void {
      if (scale === 0) return () => {};
      const delayMs = Math.ceil(Math.max(0, atMs - nowMs()) / scale);
      const timer = setTimeout(wake, Math.min(delayMs, longestTimerMs));
      return () => clearTimeout(timer);
    },
  };
}
