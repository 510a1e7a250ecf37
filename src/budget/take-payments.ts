import { type Absences, goneSince, isMissed, mergeAbsences } from '../domain/absences.ts';
import type { PendingPayment } from '../sources/record-schema.ts';

/** A payment that waited at the last reading that listed it. */
export interface KnownPayment {
  paymentId: string;
  seenAt: string;
  absences: Absences;
}

export interface TakenPayments {
  /** What waits: all that was known before, and of the others as many as there is room for. */
  listed: readonly PendingPayment[];
  /** Not listed, which proves nothing yet. */
  missed: readonly Pick<KnownPayment, 'paymentId' | 'absences'>[];
  /** Ids of payments that no longer wait. */
  over: readonly string[];
}

/** More are not kept, so that storing them takes no long transaction. */
const mostKept = 500;

/**
 * Pure: what follows from one more list. What is listed waits. What is not listed is over once a second list, at least
 * ten minutes after the first, does not have it either: one list may be empty by mistake.
 *
 * @param askedAt when the request for the list began
 */
export function takePayments(
  known: readonly KnownPayment[],
  listed: readonly PendingPayment[],
  askedAt: string,
): TakenPayments {
  const ids = new Set(listed.map(({ id }) => id));
  const knownIds = new Set(known.map(({ paymentId }) => paymentId));
  const knownFirst = listed.toSorted((a, b) => Number(knownIds.has(b.id)) - Number(knownIds.has(a.id)));
  const unlisted = known
    .filter(({ paymentId }) => !ids.has(paymentId))
    .map((one) => ({ ...one, absences: mergeAbsences(one.absences, askedAt) }));
  const isOver = ({ absences, seenAt }: KnownPayment) => goneSince(absences, seenAt) !== null;
  return {
    listed: knownFirst.slice(0, mostKept),
    missed: unlisted.filter((one) => !isOver(one) && isMissed(one.absences, one.seenAt)),
    over: unlisted.filter(isOver).map(({ paymentId }) => paymentId),
  };
}
