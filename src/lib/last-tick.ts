import { Cron } from 'croner';
import { toInstant } from './clock.ts';

/** The last instant, now included, at which a schedule (cron, UTC) was due. */
export function lastTick(schedule: string, now: Date): string {
  // A zone by name would load the data of all time zones: 8 MiB.
  const cron = new Cron(schedule, { utcOffset: 0, paused: true });
  const [last] = cron.previousRuns(1, new Date(now.getTime() + 1));
  return toInstant(last ?? new Date(0));
}
