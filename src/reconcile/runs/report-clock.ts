import { hostname } from 'node:os';
import type { Context } from '../../context.ts';
import { createQuiet } from '../../lib/quiet.ts';
import { remembered } from '../../lib/remembered.ts';
import { notableDriftMs } from '../../marketplace/source.ts';

const repeatMs = 3_600_000;

/**
 * Raises an alert if this machine's clock is wrong, as the last answers to an install show: at most one an hour, because all
 * installs are measured by the same clock.
 */
export function reportClock({ database, alerts, clock, sources }: Context, install: string): void {
  const driftMs = sources.get(install)?.clockDriftMs();
  if (driftMs === undefined) return;
  const quiet = remembered(database, 'clock drift', () => createQuiet(clock, repeatMs));
  const machine = hostname();
  const isNotable = Math.abs(driftMs) >= notableDriftMs;
  const driftSeconds = Math.round(driftMs / 1000);
  alerts.observe('clock_drift', { machine }, isNotable ? [{}] : []);
  if (!isNotable) quiet.forget('clock');
  if (!isNotable || quiet.letThrough('clock') === null) return;
  const says = `It is ${Math.abs(driftSeconds)} s ${driftSeconds < 0 ? 'behind' : 'ahead'}`;
  alerts.raise('clock_drift', { machine, driftSeconds }, says);
}
