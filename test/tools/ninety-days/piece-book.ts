import { type Day, dayOf, daysBefore, type Moment, type Sums, sumUp, toText } from './share-out.ts';

/** A piece of work as the tool's own export has it. */
export interface Piece {
  id: string;
  /** Null where the account was deleted. */
  trainerId: string | null;
  taskId: string;
  doneAt: string;
  changedAt: string;
  seconds: number;
  labels: number;
  isSkipped: boolean;
}

/** What the exports of a project have said so far: an export has only how much a piece has taken by now. */
export interface PieceBook {
  /** An export that was made just after Gangway had read and reported. */
  note(pieces: readonly Piece[], taskIds: ReadonlySet<string>, at: string): void;
  moments(): Moment[];
  /** `trainer day` of what changed after it was reported for the last time. */
  late: ReadonlySet<string>;
}

interface Kept extends Omit<Piece, 'trainerId' | 'changedAt' | 'seconds'> {
  trainerId: string;
  grown: { at: string; seconds: number }[];
}

const lookbackDays = 14;

export function createPieceBook(timeZone: string): PieceBook {
  const kept = new Map<string, Kept>();
  const late = new Set<string>();
  let closedBefore: Day = '';

  function note(pieces: readonly Piece[], taskIds: ReadonlySet<string>, at: string): void {
    const firstOpenDay = daysBefore(at, lookbackDays);
    const before = sumsByDay();
    for (const piece of pieces) if (piece.trainerId !== null) merge(piece, piece.trainerId, firstOpenDay);
    const present = new Set(pieces.map(({ id }) => id));
    // What goes with its task was done all the same.
    const gone = [...kept.values()].filter(({ id, taskId }) => !present.has(id) && taskIds.has(taskId));
    for (const { id } of gone) kept.delete(id);
    const changed = listChanged(before, sumsByDay());
    for (const key of changed.filter((one) => (one.split(' ')[1] ?? '') < closedBefore)) late.add(key);
    closedBefore = firstOpenDay;
  }

  function merge({ changedAt, seconds, ...piece }: Piece, trainerId: string, firstOpenDay: Day): void {
    const known = kept.get(piece.id);
    const counted = (known?.grown ?? []).reduce((sum, one) => sum + one.seconds, 0);
    if (seconds < counted) throw new Error(`the time of piece ${piece.id} has become less`);
    const last = known && [known.doneAt, ...known.grown.map(({ at }) => at)].sort().at(-1);
    const isClosed = last !== undefined && dayOf(last, timeZone) < firstOpenDay;
    const growth = seconds > counted ? [{ at: isClosed ? last : changedAt, seconds: seconds - counted }] : [];
    kept.set(piece.id, { ...piece, trainerId, grown: [...(known?.grown ?? []), ...growth] });
  }

  function moments(): Moment[] {
    return [...kept.values()].flatMap(({ trainerId, doneAt, taskId, isSkipped, labels, grown }) => {
      const toMoment = (at: string, of: Pick<Moment, 'seconds' | 'labels' | 'tasks'>): Moment => {
        return { trainerId, day: dayOf(at, timeZone), at, ...of };
      };
      const done = { seconds: 0, labels, tasks: isSkipped ? [] : [taskId] };
      const grew = grown.map(({ at, seconds }) => toMoment(at, { seconds, labels: 0, tasks: [] }));
      return [toMoment(doneAt, done), ...grew];
    });
  }

  function sumsByDay(): Map<string, string> {
    const byDay = Map.groupBy(moments(), ({ trainerId, day }) => `${trainerId} ${day}`);
    return new Map([...byDay].map(([key, some]) => [key, toText(sumUp(some))]));
  }

  return { note, moments, late };
}

function listChanged(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
}

/** What pieces come to, each on the day on which it was done. */
export function sumPieces(pieces: readonly Piece[], timeZone: string): Sums {
  const tasks = pieces
    .filter(({ isSkipped }) => !isSkipped)
    .map((one) => `${one.taskId} ${dayOf(one.doneAt, timeZone)}`);
  return {
    seconds: pieces.reduce((sum, { seconds }) => sum + seconds, 0),
    tasks: new Set(tasks).size,
    labels: pieces.reduce((sum, { labels }) => sum + labels, 0),
  };
}
