import { AppError } from '../../domain/errors.ts';
import { dayIn } from '../../lib/day-in.ts';
import type { UsageObservation, UsageRequest } from '../adapter.ts';

/** What people did on each day, by the events that CVAT recorded. Pure. */

/** The columns without which nothing can be told. */
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
  /** Jobs that they completed, each once however often it was reopened. */
  jobs: Set<string>;
}

export interface Tally {
  add(event: Event): void;
  observations(): Iterable<UsageObservation>;
}

/**
 * What counts. Only `send:working_time` is time: the events of the editor have durations of their
 * own, and together they would count twice.
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

/** Sums events up. */
export function createTally({ timeZone, firstDay }: Pick<UsageRequest, 'timeZone' | 'firstDay'>): Tally {
  const members = new Map<string, Map<string, Day>>();

  /** None for what nobody did, as the server itself, and for what is too long ago. */
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

/** There is one event for every property that a change of a job has changed. */
function isCompletion(event: Event): boolean {
  const isState = event.get('obj_name') === 'state';
  return isState && event.get('obj_val') === 'completed' && event.get('job_id') !== '';
}

/** Older servers leave the duration at 0, and say it in the payload. */
function workingMsOf(event: Event): number {
  const duration = toCount(event.get('duration'));
  if (duration > 0) return duration;
  const [, workingTime] = /"working_time":\s*(\d+)/.exec(event.get('payload') ?? '') ?? [];
  return toCount(workingTime);
}

/** Empty where a column does not apply. What is not understood is an error: it is no zero. */
function toCount(text = ''): number {
  if (text === '') return 0;
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
  throw notUnderstood('a count');
}

/** `2026-03-15 09:30:00.250`, in UTC unless it says otherwise; the fraction is left out where it is 0. */
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
