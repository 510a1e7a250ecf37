import { AppError } from '../../domain/errors.ts';
import { dayIn } from '../../lib/day-in.ts';
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

type Event = ReadonlyMap<string, string>;

interface Day {
  workingMs: number;
  labels: number;
  /** The jobs that they completed. A job that is reopened and completed again counts once. */
  jobs: Set<string>;
}

export interface Tally {
  add(event: Event): void;
  observations(): Iterable<UsageObservation>;
}

/**
 * What each scope adds. Only `send:working_time` is time. The other events of the editor have durations
 * too, and would count the same time twice.
 */
const counters = new Map<string, (day: Day, event: Event) => void>([
  [
    'send:working_time',
    (day, event) => {
      day.workingMs += workingMsOf(event);
    },
  ],
  ...['create:shapes', 'create:tracks', 'create:tags'].map((scope) => [scope, countLabels] as const),
  [
    'update:job',
    (day, event) => {
      day.jobs.add(event.get('job_id') ?? '');
    },
  ],
]);

function countLabels(day: Day, event: Event): void {
  day.labels += toCount(event.get('count'));
}

export function createTally({ timeZone, firstDay }: Pick<UsageRequest, 'timeZone' | 'firstDay'>): Tally {
  const members = new Map<string, Map<string, Day>>();

  /** Undefined for an event of the server itself, and for one before `firstDay`. */
  function dayOf(event: Event): Day | undefined {
    const memberId = event.get('user_id') ?? '';
    if (!/^[1-9]\d*$/.test(memberId)) return undefined;
    const day = dayIn(toInstant(event.get('timestamp') ?? ''), timeZone);
    if (day < firstDay) return undefined;
    const days = members.get(memberId) ?? new Map<string, Day>();
    const known = days.get(day) ?? { workingMs: 0, labels: 0, jobs: new Set() };
    members.set(memberId, days.set(day, known));
    return known;
  }

  return {
    add(event) {
      const scope = event.get('scope') ?? '';
      const count = counters.get(scope);
      if (count === undefined || (scope === 'update:job' && !isCompletion(event))) return;
      const day = dayOf(event);
      if (day !== undefined) count(day, event);
    },

    *observations() {
      for (const [memberId, days] of members) {
        for (const [day, { workingMs, labels, jobs }] of days) {
          const seconds = Math.round(workingMs / 1000);
          yield { memberId, of: 'day', day, seconds, labels, tasks: jobs.size };
        }
      }
    },
  };
}

/** A change of a job gives one event for each changed property. */
function isCompletion(event: Event): boolean {
  const isState = event.get('obj_name') === 'state';
  return isState && event.get('obj_val') === 'completed' && event.get('job_id') !== '';
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
  return new AppError('invalid', `Could not read the events: ${what} in them is none`);
}
