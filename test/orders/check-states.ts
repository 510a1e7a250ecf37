import type { PureEngine } from '../support/pure-engine.ts';
import { type Access, type Arrival, seatOf, toInstant } from './arrivals.ts';

/**
 * What must hold after any part of a history in any order. It is derived from the arrivals as a person would read them
 * who knows only the promise.
 */

/** @returns a sentence for each thing that is wrong */
export function findWrong(engine: PureEngine, arrived: readonly Arrival[], all: readonly Arrival[]): string[] {
  const wanted = new Set(engine.wanted());
  const shown = Map.groupBy(
    arrived.flatMap(({ shows }) => shows),
    seatOf,
  );
  const ever = Map.groupBy(
    all.flatMap(({ shows }) => shows),
    seatOf,
  );
  const wrongEnds = [...shown].flatMap(([seat, accesses]) => {
    const keptUntil = Math.max(...accesses.map((access) => keptUntilMin(access, arrived)));
    if (wanted.has(seat)) return [];
    if (keptUntil === Number.POSITIVE_INFINITY) return [`${seat} is not wanted, and nothing has ended that`];
    return rowsAt(engine, seat)
      .filter(({ state, removeAfter }) => state === 'removing' && (removeAfter ?? '') < toInstant(keptUntil))
      .map(({ cause, removeAfter }) => `${seat} goes too early, at ${removeAfter}, as of ${cause}`);
  });
  const lostEnds = [...ever].flatMap(([seat, accesses]) => {
    const endedBy = Math.max(...accesses.map((access) => endedByMin(access, arrived)));
    if (endedBy === Number.POSITIVE_INFINITY) return [];
    if (wanted.has(seat)) return [`${seat} is wanted, and all its contracts have ended`];
    return rowsAt(engine, seat)
      .filter(({ state, removeAfter }) => state === 'removing' && (removeAfter ?? '') > toInstant(endedBy))
      .map(({ cause, removeAfter }) => `${seat} goes too late, at ${removeAfter}, as of ${cause}`);
  });
  const wrongMoves = [...shown.keys()]
    .filter((seat) => {
      const rows = rowsAt(engine, seat);
      const kept = rows.filter(({ wanted: isWanted }) => isWanted);
      const isLeaving = rows.some(({ state }) => state === 'removing');
      return isLeaving && kept.length > 0 && kept.every(({ state }) => state === 'waiting_email');
    })
    .map((seat) => `${seat} is taken out, and a contract waits there for an address`);
  const unplanned = engine.plan().map(({ seat }) => `${seat.groupId}/${seat.trainerId} is derived, and yet planned`);
  return [...wrongEnds, ...lostEnds, ...wrongMoves, ...unplanned];
}

function rowsAt(engine: PureEngine, seat: string) {
  return engine.memberships().filter(({ groupId, trainerId }) => `${groupId}/${trainerId}` === seat);
}

/** Until when nobody may be removed because of claims against the access; for ever if there are none. */
function keptUntilMin(access: Access, arrived: readonly Arrival[]): number {
  const until = wordsAgainst(access, arrived).map(({ atMin, graceMin }) => atMin + graceMin);
  return Math.min(Number.POSITIVE_INFINITY, ...until);
}

/** When the access had explicitly ended at the latest; never if a later list shows its contract as active. */
function endedByMin(access: Access, arrived: readonly Arrival[]): number {
  const ends = wordsAgainst(access, arrived).filter(({ graceMin }) => graceMin === 0);
  const last = Math.max(Number.NEGATIVE_INFINITY, ...ends.map(({ atMin }) => atMin));
  const isListedAfter = arrived.some(
    ({ install, atMin, lists = [] }) => install === access.install && atMin >= last && lists.includes(access.contract),
  );
  return ends.length === 0 || isListedAfter ? Number.POSITIVE_INFINITY : last;
}

function wordsAgainst(access: Access, arrived: readonly Arrival[]) {
  return arrived.flatMap(({ atMin, against }) =>
    against.filter(({ like }) => isLike(like)(access)).map(({ graceMin }) => ({ atMin, graceMin })),
  );
}

function isLike(like: Partial<Access>): (access: Access) => boolean {
  return (access) => Object.entries(like).every(([key, value]) => Reflect.get(access, key) === value);
}
