import type { Adapter } from '../adapters/adapter.ts';
import type { Database } from '../db/database.ts';
import { createLockStore } from '../db/lock-store.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Loop, Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { AddressStore } from '../memberships/address-store.ts';
import type { RouteLink } from '../memberships/link-router.ts';
import type { Source } from '../sources/source.ts';
import { createDecisionStore } from './attribute/decision-store.ts';
import { type CompareDeps, compareWork } from './compare/compare-work.ts';
import { createComparisonStore } from './compare/comparison-store.ts';
import { createContractSourceStore } from './read/contract-source-store.ts';
import { createScopeOf, timeZoneOf } from './read/find-scopes.ts';
import { createMomentStore } from './read/moment-store.ts';
import { createObservationStore, type ObservationSource } from './read/observation-store.ts';
import { createReadUsageWorker } from './read/read-usage-worker.ts';
import { createScopeStore } from './read/scope-store.ts';
import { createWaitingStore } from './read/waiting-store.ts';
import { createWorkStore } from './read/work-store.ts';
import { createFinalReportStore } from './report/final-report-store.ts';
import { createFinalReportWorker } from './report/final-report-worker.ts';
import { createLedgerStore } from './report/ledger-store.ts';
import { reportedOf } from './report/report-deps.ts';
import { createReportWorker, type ReportWorkerDeps } from './report/report-worker.ts';
import type { OnAnswer } from './report/send-usage.ts';
import { createTroubleStore } from './report/trouble-store.ts';

export interface UsageParts extends Polling {
  database: Database;
  box: Pick<SecretBox, 'digest'>;
  addresses: AddressStore;
  adapters: ReadonlyMap<string, Adapter>;
  routeLink: RouteLink;
  /** By `externalProjectId`. */
  links: ReadonlyMap<string, { timeZone: string }>;
  usage: {
    schedule: string;
    lookbackMs: number;
    maxLoweredFraction: number;
    deletedTasks: 'keep' | 'lower';
  };
  /** The installs by name, always up to date. */
  installs: ReadonlyMap<string, unknown>;
  sources: ReadonlyMap<string, Pick<Source, 'reportUsage'>>;
  /** Sources of work besides the tools. */
  otherObservations: readonly ObservationSource[];
  onAnswer: OnAnswer;
  alerts: Alerts;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
}

/** Reads the work in the tools and reports it to the marketplace. */
export interface Usage {
  deps: ReportWorkerDeps & CompareDeps;
  /** Loops that read the tools. The bridge runs them, and so does every command that removes people. */
  readers: readonly Loop[];
  reporters: readonly Loop[];
}

export function createUsage(parts: UsageParts): Usage {
  const { database, addresses, adapters, routeLink, links, otherObservations } = parts;
  const readable = [...adapters].filter(([, adapter]) => adapter.readUsage !== undefined);
  const deps: Usage['deps'] = {
    ...parts,
    ...parts.usage,
    work: createWorkStore(database),
    scopes: createScopeStore(database),
    waiting: createWaitingStore(database, addresses),
    contractSources: createContractSourceStore(database),
    ledger: createLedgerStore(database),
    decisions: createDecisionStore(database),
    moments: createMomentStore(database),
    troubles: createTroubleStore(database),
    comparisons: createComparisonStore(database),
    locks: createLockStore(database),
    observations: [createObservationStore(database), ...otherObservations],
    scopeOf: createScopeOf({ adapters, routeLink, links }),
    timeZoneOf: (externalProjectId) => timeZoneOf(links, externalProjectId),
    compare: (signal, onProgress) =>
      compareWork(deps, reportedOf(deps, [...parts.installs.keys()]), signal, onProgress),
    onReadingWanted() {
      for (const reader of readers) reader.wake();
    },
  };
  const readers = readable.map(([tool]) => createReadUsageWorker(deps, tool));
  const finals = createFinalReportStore(database);
  const reporters = [createReportWorker(deps), createFinalReportWorker({ ...deps, finals })];
  return { deps, readers, reporters };
}
