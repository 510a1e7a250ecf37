import type { Counts, Day } from '../../domain/usage.ts';
import {
  type CountColumn,
  countColumns,
  type ImportColumn,
  type ImportEntry,
  type LineValues,
  type NamedPerson,
  type NamedWork,
} from './entry.ts';

/** Keeps the sum of any file exact. */
const mostOfOne = 1_000_000_000;

const greatest: Record<CountColumn, number> = {
  totalSeconds: 86_400,
  tasksCompleted: mostOfOne,
  labelsCompleted: mostOfOne,
};

/**
 * What one line says, or everything that is wrong with it, as far as that shows without the evidence. No value of the
 * line is quoted: it may be an address in the wrong column.
 *
 * @param today today in UTC: work is never sent before its day has begun there
 */
export function parseEntry(values: LineValues, today: Day): ImportEntry | { fault: string } {
  const faults: string[] = [];
  const fail = (fault: string) => void faults.push(fault);
  const entry = {
    day: parseDay(values, today, fail),
    workedOn: parseWork(values, fail),
    person: parsePerson(values, fail),
    counts: parseCounts(values, fail),
  };
  const { workedOn } = entry;
  if (workedOn?.by === 'project' && entry.person === null && faults.length === 0) {
    fail('externalProjectId needs opentrainUserId or workEmail beside it');
  }
  return workedOn === null || faults.length > 0 ? { fault: faults.join('; ') } : { ...entry, workedOn };
}

type Fail = (fault: string) => void;

function parseDay({ workDate }: LineValues, today: Day, fail: Fail): Day {
  if (workDate === undefined) fail('workDate is missing');
  else if (typeof workDate !== 'string' || !isDay(workDate)) {
    fail('workDate is no day as 2026-03-15');
  } else if (workDate > today) fail('workDate is in the future');
  return String(workDate);
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // JavaScript takes 30 February for 1 or 2 March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function parseWork(values: LineValues, fail: Fail): NamedWork | null {
  const contractId = parseId(values, 'contractId', fail);
  const externalProjectId = parseId(values, 'externalProjectId', fail);
  if (contractId !== null && externalProjectId !== null) {
    fail('contractId and externalProjectId are both there: give one');
  }
  if (contractId !== null) return { by: 'contract', id: contractId };
  if (externalProjectId !== null) return { by: 'project', id: externalProjectId };
  if (values.contractId === undefined && values.externalProjectId === undefined) {
    fail('contractId or externalProjectId is missing');
  }
  return null;
}

function parsePerson(values: LineValues, fail: Fail): NamedPerson | null {
  const trainerId = parseId(values, 'opentrainUserId', fail);
  const workEmail = parseId(values, 'workEmail', fail);
  if (trainerId !== null && workEmail !== null) {
    fail('opentrainUserId and workEmail are both there: give one');
  }
  if (trainerId !== null) return { trainerId };
  return workEmail === null ? null : { workEmail };
}

function parseId(values: LineValues, column: ImportColumn, fail: Fail): string | null {
  const value = values[column];
  if (value === undefined) return null;
  if (typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,320}$/u.test(value)) return value;
  fail(`${column} is no text of up to 320 characters`);
  return null;
}

function parseCounts(values: LineValues, fail: Fail): Counts {
  if (countColumns.every((column) => values[column] === undefined)) {
    fail(`none of ${countColumns.join(', ')} is there`);
  }
  return {
    seconds: parseCount(values, 'totalSeconds', fail),
    tasks: parseCount(values, 'tasksCompleted', fail),
    labels: parseCount(values, 'labelsCompleted', fail),
  };
}

function parseCount(values: LineValues, column: CountColumn, fail: Fail): number | null {
  const value = values[column];
  if (value === undefined) return null;
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    fail(`${column} is no whole number`);
    return null;
  }
  if (value < 0) fail(`${column} is negative`);
  if (value > greatest[column]) fail(`${column} is more than ${greatest[column]}`);
  return value;
}
