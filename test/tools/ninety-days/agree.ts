import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { UsageStage, Worker } from '../usage-stage.ts';
import { add, type Day, isNothing, nothing, type SharedOut, type Sums, type Term, toText } from './share-out.ts';

/** A day of `gangway usage check --all --json`. */
export interface CheckedDay {
  id: string;
  contractId: string;
  trainerId: string;
  day: Day;
  seen: Counts;
  due: Counts;
  answered: Counts;
  why: string | null;
  reason: string | null;
}

type Counts = Record<keyof Sums, number | null>;

/** What follows from the exports of the tool, and from what operators have decided. */
export interface Expected extends SharedOut {
  /** `trainer day` of what changed after it was reported for the last time. */
  late: ReadonlySet<string>;
  /** What was due on late days, by `contract trainer day`, when an operator left them as they were. */
  dismissed: ReadonlyMap<string, string>;
  /** The day in UTC: later ones cannot be reported yet. */
  today: Day;
}

export async function askCheck(stage: UsageStage): Promise<CheckedDay[]> {
  const { days, left } = await stage.ask<{ days: CheckedDay[]; left: number }>('usage', 'check', '--all');
  if (left > 0) throw new Error(`${left} days are not listed`);
  return days;
}

/** What the marketplace has, by `contract trainer day`. */
export function listAnswered(sandbox: Sandbox): Map<string, Sums> {
  const days = sandbox.snapshot().contracts.flatMap(({ id, usage }) =>
    usage.map((one) => {
      const sums = { seconds: one.totalSeconds, tasks: one.tasksCompleted, labels: one.labelsCompleted };
      return [`${id} ${one.workerOpentrainUserId} ${one.workDate}`, sums] as const;
    }),
  );
  return new Map(days);
}

/** The contracts of these workers, with their instants as the marketplace has them. */
export function listTerms(sandbox: Sandbox, workers: readonly Worker[]): Term[] {
  const contracts = new Map(sandbox.snapshot().contracts.map((one) => [one.id, one]));
  return workers.map(({ contractId, trainerId }) => {
    const { startDate, endDate } = contracts.get(contractId) ?? { startDate: null, endDate: null };
    return { contractId, trainerId, startsAt: startDate ?? '', endsAt: endDate };
  });
}

/**
 * Where the tool, Gangway and the marketplace disagree without that being said, or where something is said that is not
 * so: a line for each.
 */
export function findDisagreements(
  expected: Expected,
  answered: ReadonlyMap<string, Sums>,
  checked: readonly CheckedDay[],
): string[] {
  const rows = new Map(checked.map((row) => [`${row.contractId} ${row.trainerId} ${row.day}`, row]));
  const ofContracts = [...rows].flatMap(([key, { contractId }]) => (contractId === '' ? [] : [key]));
  const keys = new Set([...expected.due.keys(), ...answered.keys(), ...ofContracts]);
  const waiting = Map.groupBy(expected.waiting, ({ trainerId, day }) => `${trainerId} ${day}`);
  const isOfDay = (day: string) => (row: CheckedDay) => `${row.trainerId} ${row.day}` === day;
  const days = new Set([...waiting.keys(), ...checked.map(({ trainerId, day }) => `${trainerId} ${day}`)]);
  return [
    ...[...keys].flatMap((key) => judgeDay(key, expected, answered.get(key) ?? nothing, rows.get(key))),
    ...[...days].flatMap((day) => judgeWaiting(day, waiting.get(day) ?? [], checked.filter(isOfDay(day)))),
  ].sort();
}

/** One contract's day of a trainer, whatever waits for an operator. */
function judgeDay(key: string, expected: Expected, answered: Sums, row: CheckedDay | undefined): string[] {
  const [, trainerId = '', day = ''] = key.split(' ');
  const due = expected.due.get(key) ?? nothing;
  const [dueHere, answeredHere] = [toSums(row?.due), toSums(row?.answered)];
  const why = row?.why ?? null;
  const waits = expected.waiting.filter((one) => one.trainerId === trainerId && one.day === day);
  const wanted = reasonsOf(key, toText(due) !== toText(answered), expected, waits);
  const isAgreed = toText(dueHere) === toText(due) && toText(answeredHere) === toText(answered) && wanted.includes(why);
  if (isAgreed) return [];
  const inCheck = row === undefined ? 'nothing' : `due ${toText(dueHere)}, answered ${toText(answeredHere)}, ${why}`;
  return [
    `${key}: the export has ${toText(due)}, the marketplace ${toText(answered)}, check ${inCheck}; not ${wanted}`,
  ];
}

function reasonsOf(
  key: string,
  differs: boolean,
  { due, late, dismissed, today }: Expected,
  waits: Expected['waiting'],
): (string | null)[] {
  const said = waits.map(({ isDiscarded }) => (isDiscarded ? 'discarded' : 'held'));
  if (waits.length > 0) return differs ? said : [...said, null];
  if (!differs) return [null];
  if ((key.split(' ')[2] ?? '') > today) return ['not_begun'];
  if (dismissed.get(key) === toText(due.get(key) ?? nothing)) return ['dismissed'];
  return [late.has(key.replace(/^\S+ /, '')) ? 'late' : 'to be paid'];
}

/** What waits for an operator on one day of a trainer, or was discarded by one. */
function judgeWaiting(day: string, waiting: Expected['waiting'], rows: readonly CheckedDay[]): string[] {
  const wanted = waiting.map(({ sums }) => sums).reduce(add, nothing);
  const waits = rows.map(({ seen, due }) => subtract(toSums(seen), toSums(due))).reduce(add, nothing);
  const isNamed = waiting.every(({ isDiscarded, reason }) =>
    rows.some((row) => row.why === (isDiscarded ? 'discarded' : 'held') && row.reason === reason),
  );
  const isTrue = waiting.length > 0 || rows.every(({ why }) => why !== 'held' && why !== 'discarded');
  if (isNothing(subtract(waits, wanted)) && isNamed && isTrue) return [];
  const reasons = waiting.map(({ reason, isDiscarded }) => `${reason}${isDiscarded ? ' (discarded)' : ''}`);
  const names = rows.map(({ why, reason }) => `${why} ${reason}`);
  return [`${day}: ${toText(wanted)} waits (${reasons}); check: ${toText(waits)} (${names})`];
}

/** What a trainer's days differ by, as they are named: what the tool has and the marketplace has not. */
export function sumDifferences(rows: readonly CheckedDay[], trainerId: string): Sums {
  const named = rows.filter((row) => row.trainerId === trainerId && row.why !== null);
  return named.map(({ seen, answered }) => subtract(toSums(seen), toSums(answered))).reduce(add, nothing);
}

export function sumOf(answered: ReadonlyMap<string, Sums>, trainerId: string): Sums {
  return [...answered]
    .filter(([key]) => key.split(' ')[1] === trainerId)
    .map(([, sums]) => sums)
    .reduce(add, nothing);
}

function subtract(a: Sums, b: Sums): Sums {
  return { seconds: a.seconds - b.seconds, tasks: a.tasks - b.tasks, labels: a.labels - b.labels };
}

function toSums(counts: Counts | undefined): Sums {
  return { seconds: counts?.seconds ?? 0, tasks: counts?.tasks ?? 0, labels: counts?.labels ?? 0 };
}
