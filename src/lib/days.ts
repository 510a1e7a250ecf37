import { Cron } from 'croner';
import { toInstant } from './clock.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The day of an instant in a time zone (IANA), such as `2026-03-15`.
 *
 * @throws RangeError for an unknown time zone and for an invalid date
 */
export function dayIn(instant: Date, timeZone: string): string {
  const parts = formatOf(timeZone).formatToParts(instant);
  const textOf = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return `${textOf('year').padStart(4, '0')}-${textOf('month')}-${textOf('day')}`;
}

/** Kept, because creating a format takes a hundred times as long as using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}

/** Adds days to a calendar day such as `2026-03-15`, in no time zone. */
export function addDays(day: string, count: number): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + count);
  return date.toISOString().slice(0, 10);
}

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
