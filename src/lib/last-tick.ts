import { Cron } from 'croner';
import { toInstant } from './clock.ts';

/** The last instant, now included, at which a schedule (cron, UTC) was due. */
export function lastTick(schedule: string, now: Date): string {
  const cron = new Cron(schedule, { timezone: 'UTC', paused: true });
  const [last] = cron.previousRuns(1, new Date(now.getTime() + 1));
  return toInstant(last ?? new Date(0));
}
