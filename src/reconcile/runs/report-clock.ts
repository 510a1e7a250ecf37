import { type Database, inTransaction } from '../../db/database.ts';
import { writeSetting } from '../../db/setting-store.ts';
import type { Alerts } from '../../lib/alerts.ts';
import type { Clock } from '../../lib/clock.ts';
import { createQuiet } from '../../lib/quiet.ts';
import { notableDriftMs } from '../../sources/source.ts';

/**
 * Raises an alert if this machine's clock is wrong, and stores the drift for `doctor` and `status`.
 *
 * @param driftMs by how much it is ahead of the marketplace's clock; undefined if unknown
 */
export type ReportClock = (driftMs: number | undefined) => Promise<void>;

interface ReportClockDeps {
  database: Database;
  alerts: Alerts;
  clock: Clock;
  /** The machine whose clock it is. */
  machine: string;
}

const repeatMs = 3_600_000;

/** At most one alert an hour, because all installs are measured by the same clock. */
export function createReportClock({ database, alerts, clock, machine }: ReportClockDeps): ReportClock {
  const quiet = createQuiet(clock, repeatMs);
  let written: number | undefined;

  function raise(driftSeconds: number): void {
    if (quiet.letThrough('clock') === null) return;
    alerts.raise(
      'clock_drift',
      { machine, driftSeconds },
      "This machine's clock and the marketplace's differ: deliveries are refused over 300 s",
    );
  }

  return async (driftMs) => {
    if (driftMs === undefined) return;
    const isNotable = Math.abs(driftMs) >= notableDriftMs;
    const driftSeconds = isNotable ? Math.round(driftMs / 1000) : 0;
    if (driftSeconds !== written) {
      await inTransaction(database, (tx) => writeSetting(tx, 'clock_drift_seconds', String(driftSeconds)));
      written = driftSeconds;
    }
    alerts.observe('clock_drift', { machine }, isNotable ? [{}] : []);
    if (isNotable) raise(driftSeconds);
    else quiet.forget('clock');
  };
}
