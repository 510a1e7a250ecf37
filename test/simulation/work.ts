import type { UsageNote, UsageObservation, UsageRequest } from '../../src/adapters/adapter.ts';
import { clockwork } from './clockwork.ts';

/** Work in the model tool: pieces by one person on one task, which can be edited and deleted. */
export interface Work {
  begin(group: string, member: Worker, seconds: number): void;
  /** Changes the duration of a piece. */
  edit(which: number, seconds: number): void;
  /** Deletes a piece, but not its task. */
  remove(which: number): void;
  read(group: string, request: UsageRequest): (UsageObservation | UsageNote)[];
  /** The totals of a seat: current, and with each piece at its maximum, because lowered work is noticed late. */
  secondsOf(seat: string): { now: number; most: number; isLowered: boolean };
  seats(): string[];
}

interface Worker {
  id: string;
  address: string;
  /** The address by which the simulation identifies them. */
  knownAs: string;
}

interface Piece {
  id: string;
  group: string;
  worker: Worker;
  seconds: number;
  mostSeconds: number;
  doneAtMs: number;
  changedAtMs: number;
  isLowered: boolean;
  isRemoved: boolean;
}

export function createWork(): Work {
  const pieces: Piece[] = [];
  const seatOf = ({ group, worker }: Piece) => `${group}/${worker.knownAs}`;
  const piecesOf = (seat: string) => pieces.filter((piece) => seatOf(piece) === seat);
  const sumOf = (seat: string) =>
    piecesOf(seat).reduce((sum, { seconds, isRemoved }) => sum + (isRemoved ? 0 : seconds), 0);
  const pick = (which: number) => pieces[Math.floor(which * pieces.length)];

  return {
    begin(group, worker, seconds) {
      const now = clockwork.nowMs();
      const id = String(pieces.length + 1);
      const piece = {
        id,
        group,
        worker,
        seconds,
        mostSeconds: seconds,
        doneAtMs: now,
        changedAtMs: now,
        isLowered: false,
        isRemoved: false,
      };
      pieces.push(piece);
    },
    edit(which, seconds) {
      const piece = pick(which);
      if (piece === undefined || piece.isRemoved) return;
      piece.isLowered ||= seconds < piece.seconds;
      piece.seconds = seconds;
      piece.mostSeconds = Math.max(piece.mostSeconds, seconds);
      piece.changedAtMs = clockwork.nowMs();
    },
    remove(which) {
      const piece = pick(which);
      if (piece !== undefined) piece.isRemoved = true;
    },
    read(group, { changedSince }) {
      const sinceMs = changedSince === null ? 0 : Date.parse(changedSince);
      return pieces
        .filter((piece) => piece.group === group && piece.changedAtMs >= sinceMs)
        .flatMap((piece) => [{ of: 'task', taskId: piece.id }, ...(piece.isRemoved ? [] : [toItem(piece)])]);
    },
    secondsOf: (seat) => ({
      now: sumOf(seat),
      most: piecesOf(seat).reduce((sum, { mostSeconds }) => sum + mostSeconds, 0),
      isLowered: piecesOf(seat).some((piece) => piece.isLowered || piece.isRemoved),
    }),
    seats: () => [...new Set(pieces.map(seatOf))],
  };
}

function toItem({ id, worker, seconds, doneAtMs, changedAtMs }: Piece): UsageObservation {
  return {
    of: 'item',
    itemId: id,
    taskId: id,
    memberId: worker.id,
    email: worker.address,
    doneAt: new Date(doneAtMs).toISOString(),
    changedAt: new Date(changedAtMs).toISOString(),
    seconds,
  };
}
