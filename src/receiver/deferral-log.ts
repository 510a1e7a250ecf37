import type { Alerts } from '../lib/alerts.ts';
import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quiet } from '../lib/quiet.ts';

/** Why a sender is asked to come again later. */
export type DeferralReason = 'bytes_in_flight' | 'rate' | 'stored_bytes' | 'disk_reserve';

/** Tells the operator whose deliveries wait, without letting a sender fill the log. */
export interface DeferralLog {
  /** @param install empty for one that does not exist: its name was chosen by a stranger */
  report(install: string, reason: DeferralReason): void;
}

interface DeferralLogDeps {
  metrics: Metrics;
  logger: Logger;
  alerts: Alerts;
  quiet: Quiet;
  /** Of alerts, which are rarer than lines. */
  alertQuiet: Quiet;
}

const hints: Record<DeferralReason, string> = {
  bytes_in_flight: 'too many bodies are under way: is somebody flooding this address?',
  rate: 'more came in a minute than receiver.limits lets one install have',
  stored_bytes: 'it has as much stored as receiver.limits.storedBytes lets one install have',
  disk_reserve: 'the disk is nearly full, and it has used its share of what is left',
};

/** One line per install and reason a minute; where it will not pass by itself, an alert an hour. */
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
      alerts.raise(kind, subject, 'Deliveries of an install are not stored');
    },
  };
}
