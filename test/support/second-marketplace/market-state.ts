import { createRandom } from '../random.ts';
import type { ContractRecord, Delivery, InstallRecord, JobRecord } from './records.ts';

export interface MarketOptions {
  /** The time of day, and what the waits between attempts are measured by. */
  clock: { now(): Date };
  headerPrefix?: 'X-OpenTrain-' | 'X-Service-';
  /** Whether listings of contracts have a `nextCursor`. */
  hasCursors?: boolean;
  deliveryTimeoutMs?: number;
  linksPerInstall?: number;
  endpointsPerInstall?: number;
}

/** Everything there is. */
export interface MarketState {
  options: MarketOptions;
  installs: Map<string, InstallRecord>;
  installsByToken: Map<string, InstallRecord>;
  jobs: Map<string, JobRecord>;
  contracts: Map<string, ContractRecord>;
  pending: Set<Delivery>;
  nextId(prefix: string): string;
  nextEventId(): string;
  nextSequence(): number;
  now(): string;
}

export function createMarketState(options: MarketOptions): MarketState {
  const random = createRandom(1);
  let ids = 0;
  let sequence = 0;
  // Greater than what a JavaScript number can tell apart.
  let eventId = 9_007_199_254_740_993n;
  return {
    options,
    installs: new Map(),
    installsByToken: new Map(),
    jobs: new Map(),
    contracts: new Map(),
    pending: new Set(),
    nextId(prefix) {
      ids += 1;
      return `${prefix}-${ids.toString(36)}x${Math.floor(random() * 1e9).toString(36)}`;
    },
    nextEventId() {
      eventId += 1n;
      return String(eventId);
    },
    nextSequence() {
      sequence += 1;
      return sequence;
    },
    now: () => options.clock.now().toISOString(),
  };
}
