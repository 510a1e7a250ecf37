import type { Alerts } from '../../lib/alerts.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Polling } from '../../lib/loop.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { Source } from '../../sources/source.ts';
import type { DueDeps } from '../attribute/load-due.ts';
import type { OnAnswer } from './send-usage.ts';

export interface ReportDeps extends DueDeps, Polling {
  /** By install. */
  sources: ReadonlyMap<string, Pick<Source, 'reportUsage'>>;
  maxLoweredFraction: number;
  onAnswer: OnAnswer;
  alerts: Alerts;
  metrics: Metrics;
  logger: Logger;
}

/** The installs whose source takes reports. The work for the others is only shown. */
export function reportedOf({ sources }: ReportDeps, installs: readonly string[]): string[] {
  return installs.filter((install) => sources.get(install)?.reportUsage !== undefined);
}
