import { Cron } from 'croner';
import { toInstant } from './clock.ts';

/** The last instant, now included, at which a schedule (cron, UTC) was due. */
export function lastTick(schedule: string, now: Date): string {
  const [last] = parse(schedule).previousRuns(1, new Date(now.getTime() + 1));
  return toInstant(last ?? new Date(0));
}

/** The next instant at which it is due. */
export function nextTick(schedule: string, now: Date): string {
  return toInstant(parse(schedule).nextRun(now) ?? new Date('9999-01-01'));
}

function parse(schedule: string): Cron {
  // A zone by name would load the data of all time zones: 8 MiB.
  return new Cron(schedule, { utcOffset: 0, paused: true });
}
