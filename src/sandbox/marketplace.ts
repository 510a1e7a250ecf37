import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createFaultDice, type FaultDice } from './faults/fault-dice.ts';
import { createIds, type Ids } from './ids.ts';
import { createSandboxState, type Delivery, type SandboxState } from './sandbox-state.ts';
import type { HeaderPrefix } from './send-delivery.ts';
import { createTimeline, type Timeline } from './timeline.ts';

export interface MarketplaceOptions {
  /** The same seed gives the same ids, tokens and secrets, and the same faults. */
  seed?: string;
  /** How much faster than real time the timeline moves; at 0 only `advance` moves it. */
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

/** What the operations of the APIs and the controls share. */
export interface Marketplace {
  options: MarketplaceOptions;
  state: SandboxState;
  ids: Ids;
  clock: Clock;
  dice: FaultDice;
  timeline: Timeline;
  /** The deliveries that are not settled. */
  open: Set<Delivery>;
  /** The attempts that have no outcome yet. */
  inFlight: Map<Delivery, Promise<void>>;
  /** Undefined while the sandbox is stopped. */
  running: AbortController | undefined;
  /** Cancels the timer of the next attempt. */
  cancelTimer: () => void;
}

export function createMarketplace(options: MarketplaceOptions): Marketplace {
  const { seed = randomUUID(), clock = systemClock, timeScale = 1 } = options;
  return {
    options,
    state: createSandboxState(),
    ids: createIds(seed),
    clock,
    dice: createFaultDice(seed),
    timeline: createTimeline(timeScale),
    open: new Set(),
    inFlight: new Map(),
    running: undefined,
    cancelTimer: () => {},
  };
}
