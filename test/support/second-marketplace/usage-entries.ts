import type { Call } from './operations.ts';
import type { Person, WorkDay } from './records.ts';
import { demand } from './refusal.ts';

export interface UsageEntry {
  workDate: string;
  worker: string | undefined;
  /** A field that is not given keeps what is stored. */
  work: Partial<WorkDay>;
}

const fields = ['totalSeconds', 'tasksCompleted', 'labelsCompleted'] as const;

/** @throws Refusal `BAD_REQUEST` for the whole of it where one entry is wrong */
export function parseEntries(body: Call['body'], people: Person[], today: string): UsageEntry[] {
  const { entries } = body;
  demand(Array.isArray(entries), 'entries is required');
  demand(entries.length >= 1 && entries.length <= 100, 'entries are 1 to 100');
  return entries.map((entry: unknown) => parseEntry(entry, people, today));
}

function parseEntry(entry: unknown, people: Person[], today: string): UsageEntry {
  demand(typeof entry === 'object' && entry !== null, 'an entry is an object');
  const given = new Map(Object.entries(entry));
  const workDate: unknown = given.get('workDate');
  demand(typeof workDate === 'string' && isDay(workDate), 'workDate is not a day');
  demand(workDate <= today, 'workDate is in the future');
  const worker: unknown = given.get('workerOpentrainUserId');
  const isOnIt = people.some(({ opentrainUserId }) => opentrainUserId === worker);
  demand(worker === undefined || isOnIt, 'the worker is no participant');
  const work: Partial<WorkDay> = {};
  for (const field of fields) {
    const value: unknown = given.get(field);
    if (value === undefined) continue;
    const most = field === 'totalSeconds' ? 86_400 : Number.MAX_SAFE_INTEGER;
    demand(isCount(value) && value <= most, `${field} is out of range`);
    work[field] = value;
  }
  return { workDate, worker: typeof worker === 'string' ? worker : undefined, work };
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}
