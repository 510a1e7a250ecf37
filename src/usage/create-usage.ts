import type { Adapter } from '../adapters/adapter.ts';
import type { RouteLink } from '../domain/route.ts';
import type { Storage } from '../keys/storage.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Loop, Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Source } from '../sources/source.ts';
import { compareWork } from './compare/compare-work.ts';
import { createScopeOf, timeZoneOf } from './read/find-scopes.ts';
import { createObservationStore, type ObservationSource } from './read/observation-store.ts';
import { createReadUsageWorker } from './read/read-usage-worker.ts';
import { createFinalReportWorker } from './report/final-report-worker.ts';
import { reportedOf } from './report/report-deps.ts';
import { createReportWorker, type ReportWorkerDeps } from './report/report-worker.ts';
import type { OnAnswer } from './report/send-usage.ts';

export interface UsageParts extends Storage, Polling {
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
  deps: ReportWorkerDeps;
  /** Loops that read the tools. The bridge runs them, and so does every command that removes people. */
  readers: readonly Loop[];
  reporters: readonly Loop[];
}

export function createUsage(parts: UsageParts): Usage {
  const { database, adapters, routeLink, links, otherObservations } = parts;
  const readable = [...adapters].filter(([, adapter]) => adapter.readUsage !== undefined);
  const deps: ReportWorkerDeps = {
    ...parts,
    ...parts.usage,
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
  const reporters = [createReportWorker(deps), createFinalReportWorker(deps)];
  return { deps, readers, reporters };
}
