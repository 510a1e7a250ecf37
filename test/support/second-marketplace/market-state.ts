import { createRandom } from '../random.ts';

/** What the second marketplace keeps (spec: platform-api.md). Instants are ISO 8601 texts. */

export interface Person {
  opentrainUserId: string;
  displayName: string;
  country: string;
  profileUrl: string;
  workEmail: string;
}

export interface WorkDay {
  totalSeconds: number;
  tasksCompleted: number;
  labelsCompleted: number;
}

export interface ContractRecord {
  id: string;
  jobId: string;
  title: string;
  status: 'active' | 'ended';
  startDate: string;
  endDate: string | null;
  createdAt: string;
  people: Person[];
  /** By worker and day. */
  reported: Map<string, WorkDay>;
  lastUsageAt: string | null;
}

export interface LinkRecord {
  id: string;
  jobId: string | null;
  externalProjectId: string;
  externalProjectName: string | null;
  externalProjectUrl: string | null;
  provisioningMode: string;
  createdAt: string;
}

export interface EndpointRecord {
  id: string;
  url: string;
  eventTypes: string[];
  status: 'ACTIVE' | 'DISABLED';
  createdAt: string;
  consecutiveFailures: number;
  disabledAt: string | null;
  disabledReason: string | null;
  secret: string;
  deliveries: Delivery[];
}

export interface Delivery {
  id: string;
  endpoint: EndpointRecord;
  type: string;
  body: string;
  status: 'PENDING' | 'DELIVERED' | 'FAILED';
  attempts: number;
  /** Unix milliseconds. */
  dueAt: number;
}

export interface InstallRecord {
  id: string;
  status: 'ACTIVE' | 'REVOKED';
  scopes: string[];
  piiConsent: boolean;
  organizationId: string;
  createdAt: string;
  token: { id: string; name: string; isLive: boolean };
  links: Map<string, LinkRecord>;
  endpoints: Map<string, EndpointRecord>;
}

export interface MarketOptions {
  /** The time of day, and what the waits between attempts are measured by. */
  clock: { now(): Date };
  /** Whether listings of contracts have a `nextCursor`. */
  hasCursors?: boolean;
  linksPerInstall?: number;
  endpointsPerInstall?: number;
}

/** Everything there is. */
export interface MarketState {
  options: MarketOptions;
  installs: Map<string, InstallRecord>;
  installsByToken: Map<string, InstallRecord>;
  /** The organization of each job. */
  jobs: Map<string, string>;
  /** Oldest first. */
  contracts: Map<string, ContractRecord>;
  pending: Set<Delivery>;
  nextId(prefix: string): string;
  nextEventId(): string;
  now(): string;
}

export function createMarketState(options: MarketOptions): MarketState {
  const random = createRandom(1);
  let ids = 0;
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
    now: () => options.clock.now().toISOString(),
  };
}
