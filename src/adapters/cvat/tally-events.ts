import { AppError } from '../../domain/errors.ts';
import { dayIn } from '../../lib/days.ts';
import type { UsageObservation, UsageRequest } from '../adapter.ts';

/** Counts the work of each member and day in the events of CVAT. Pure. */

/** The columns that are needed. */
export const eventColumns = [
  'scope',
  'timestamp',
  'user_id',
  'job_id',
  'obj_name',
  'obj_val',
  'count',
  'duration',
  'payload',
];

const labelScopes = new Set(['create:shapes', 'create:tracks', 'create:tags']);

type Event = ReadonlyMap<string, string>;

interface Day {
  workingMs: number;
  labels: number;
  /** The jobs that they completed. A job that is reopened and completed again counts once. */
  jobs: Set<string>;
}

export async function* tallyEvents(
  events: AsyncIterable<Event>,
  { timeZone, firstDay }: Pick<UsageRequest, 'timeZone' | 'firstDay'>,
): AsyncGenerator<UsageObservation> {
  const members = new Map<string, Map<string, Day>>();
  for await (const event of events) {
    if (!isCounted(event)) continue;
    const day = dayIn(toInstant(event.get('timestamp') ?? ''), timeZone);
    if (day < firstDay) continue;
    const memberId = event.get('user_id') ?? '';
    const days = members.get(memberId) ?? new Map<string, Day>();
    const counts = days.get(day) ?? { workingMs: 0, labels: 0, jobs: new Set() };
    members.set(memberId, days.set(day, counts));
    addEvent(counts, event);
  }
  for (const [memberId, days] of members) {
    for (const [day, { workingMs, labels, jobs }] of days) {
      yield { memberId, of: 'day', day, seconds: Math.round(workingMs / 1000), labels, tasks: jobs.size };
    }
  }
}

/**
 * Only `send:working_time` is time. The other events of the editor have durations too, and would count the same time
 * twice. A change of a job gives one event for each changed property.
 */
function isCounted(event: Event): boolean {
  const scope = event.get('scope') ?? '';
  // The server's own events have no user.
  if (!/^[1-9]\d*$/.test(event.get('user_id') ?? '')) return false;
  if (scope !== 'update:job') return scope === 'send:working_time' || labelScopes.has(scope);
  const isState = event.get('obj_name') === 'state';
  return isState && event.get('obj_val') === 'completed' && event.get('job_id') !== '';
}

function addEvent(day: Day, event: Event): void {
  const scope = event.get('scope') ?? '';
  if (labelScopes.has(scope)) day.labels += toCount(event.get('count'));
  else if (scope === 'update:job') day.jobs.add(event.get('job_id') ?? '');
  else day.workingMs += workingMsOf(event);
}

/** Older servers have the duration only in the payload. */
function workingMsOf(event: Event): number {
  const duration = toCount(event.get('duration'));
  if (duration > 0) return duration;
  const [, workingTime] = /"working_time":\s*(\d+)/.exec(event.get('payload') ?? '') ?? [];
  return toCount(workingTime);
}

/** Empty if the column does not apply. A text that is not understood is an error, and not zero. */
function toCount(text = ''): number {
  if (text === '') return 0;
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
  throw notUnderstood('a count');
}

/** `2026-03-15 09:30:00.250`, in UTC if it has no zone. A fraction of 0 is left out. */
function toInstant(text: string): Date {
  const [, day, time, zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const at = new Date(`${day}T${time}${zone}`);
  if (Number.isNaN(at.getTime())) throw notUnderstood('an instant');
  return at;
}

function notUnderstood(what: string): AppError {
  return new AppError('invalid', `Could not read the events: ${what} in them is invalid`);
}
