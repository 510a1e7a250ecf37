import type { Day } from '../../domain/usage.ts';
import {
  type CountColumn,
  countColumns,
  type ImportColumn,
  type ImportEntry,
  idColumns,
  type LineValues,
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
  const faults = [
    faultOfDay(values.workDate, today),
    ...idColumns.map((column) => faultOfId(column, values[column])),
    ...faultsOfNames(values),
    countColumns.every((column) => values[column] === undefined) && `none of ${countColumns.join(', ')} is there`,
    ...countColumns.map((column) => faultOfCount(column, values[column])),
  ].filter((fault) => fault !== false);
  return faults.length > 0 ? { fault: faults.join('; ') } : toEntry(values as CheckedValues);
}

type CheckedValues = { workDate: Day } & Partial<
  Record<(typeof idColumns)[number], string> & Record<CountColumn, number>
>;

function toEntry(values: CheckedValues): ImportEntry {
  const { workDate: day, contractId, externalProjectId = '', opentrainUserId: trainerId, workEmail } = values;
  const { totalSeconds: seconds = null, tasksCompleted: tasks = null, labelsCompleted: labels = null } = values;
  const person = workEmail === undefined ? null : { workEmail };
  return {
    day,
    workedOn: contractId === undefined ? { by: 'project', id: externalProjectId } : { by: 'contract', id: contractId },
    person: trainerId === undefined ? person : { trainerId },
    counts: { seconds, tasks, labels },
  };
}

function faultOfDay(day: unknown, today: Day): string | false {
  if (day === undefined) return 'workDate is missing';
  if (typeof day !== 'string' || !isDay(day)) return 'workDate is not a day like 2026-03-15';
  return day > today && 'workDate is in the future';
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // JavaScript takes 30 February for 1 or 2 March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function faultOfId(column: ImportColumn, value: unknown): string | false {
  const isId = value === undefined || (typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,320}$/u.test(value));
  return !isId && `${column} is not text of up to 320 characters`;
}

function faultsOfNames({ contractId, externalProjectId, opentrainUserId, workEmail }: LineValues): (string | false)[] {
  const [hasContract, hasProject] = [contractId !== undefined, externalProjectId !== undefined];
  const [hasTrainer, hasEmail] = [opentrainUserId !== undefined, workEmail !== undefined];
  return [
    hasContract && hasProject && 'contractId and externalProjectId are both there: give one',
    !(hasContract || hasProject) && 'contractId or externalProjectId is missing',
    hasTrainer && hasEmail && 'opentrainUserId and workEmail are both there: give one',
    !hasContract &&
      hasProject &&
      !(hasTrainer || hasEmail) &&
      'externalProjectId needs opentrainUserId or workEmail beside it',
  ];
}

function faultOfCount(column: CountColumn, value: unknown): string | false {
  if (value === undefined) return false;
  if (typeof value !== 'number' || !Number.isInteger(value)) return `${column} is not a whole number`;
  if (value < 0) return `${column} is negative`;
  return value > greatest[column] && `${column} is more than ${greatest[column]}`;
}
