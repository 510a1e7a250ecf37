import type { Alerts } from '../lib/alerts.ts';
import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quiet } from '../lib/quiet.ts';

/** Why a sender is asked to try again later. */
export type DeferralReason = 'bytes_in_flight' | 'rate' | 'stored_bytes' | 'disk_reserve';

/** Reports whose deliveries are deferred. A sender cannot fill the log with it. */
export interface DeferralLog {
  /** @param install empty for an unknown install, because a stranger chose its name */
  report(install: string, reason: DeferralReason): void;
}

interface DeferralLogDeps {
  metrics: Metrics;
  logger: Logger;
  alerts: Alerts;
  quiet: Quiet;
  /** For alerts, which are rarer than log lines. */
  alertQuiet: Quiet;
}

const hints: Record<DeferralReason, string> = {
  bytes_in_flight: 'too many request bodies are under way: is this address being flooded?',
  rate: 'more deliveries came in a minute than receiver.limits allows for one install',
  stored_bytes: 'it has stored as much as receiver.limits.storedBytes allows for one install',
  disk_reserve: 'the disk is nearly full, and it has used its share of what is left',
};

/** One line a minute for each install and reason; and one alert an hour, if an operator must act. */
export function createDeferralLog(deps: DeferralLogDeps): DeferralLog {
  const { metrics, logger, alerts, quiet, alertQuiet } = deps;
  return {
    report(install, reason) {
      metrics.deferrals.inc({ install, reason });
      const alsoDeferred = quiet.letThrough(`deferred ${install} ${reason}`);
      if (alsoDeferred === null) return;
      const subject = { install: install || '(unknown)', reason, hint: hints[reason] };
      logger.warn({ ...subject, alsoDeferred }, 'A request was asked to come again later');
      if (reason !== 'stored_bytes' && reason !== 'disk_reserve') return;
      if (alertQuiet.letThrough(`${install} ${reason}`) === null) return;
      const kind = reason === 'stored_bytes' ? 'storage_used_up' : 'disk_short';
      alerts.raise(kind, subject, 'Webhooks of an install are not stored');
    },
  };
}
