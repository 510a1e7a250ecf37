import type { Ending } from './market.ts';

/**
 * How long each rule may take, in minutes: what the README and the design promise, in one file. In
 * stories the bridge reads every install every six hours, so that ten thousand of them take little
 * time, and oftener where that is what it is about; by default it does so every fifteen minutes.
 */

export const readEveryMin = 360;
/** Who is on a contract is asked again after so long. */
const participantsMin = 360;
/** The longest that anything is left alone after it failed. */
const backoffMin = 60;
/** The longest that anything takes that was heard and is not disturbed. */
const workMin = 5;

/** Two absences are so far apart. */
const apartMin = 10;
const graceMin = 15;
const revokedGraceMin = 1440;
/** An end that a reading contradicts is believed until one began so long after it. */
export const disputeAfterMin = 10;

/** Before so long no trainer is taken out by it, although nothing leads to the group any more. */
export const keptForMin: Record<Ending, number> = {
  contract_ended: 0,
  link_removed: graceMin,
  left: apartMin + graceMin,
  moved: graceMin,
  disconnected: revokedGraceMin,
  reconnected: revokedGraceMin,
  managed: Number.POSITIVE_INFINITY,
};

const readingMin = readEveryMin + backoffMin + workMin;

/** After so long every trainer concerned is out, if it can be known and nothing was in the way. */
export const outAfterMin: Record<Ending, number> = {
  contract_ended: 2 * readingMin,
  // Missed twice, and what may take over is waited for, but not for ever.
  link_removed: 2 * readingMin + revokedGraceMin,
  left: participantsMin + 3 * readingMin + graceMin,
  moved: 2 * readingMin + graceMin,
  disconnected: revokedGraceMin + 2 * readingMin,
  // After that the new link to the same project may take over what is in no list, but not for ever.
  reconnected: 2 * revokedGraceMin + 2 * readingMin,
  managed: Number.POSITIVE_INFINITY,
};

/** After so long every trainer with a reason to be in is in, if nothing was in the way. */
export const inAfterMin = { hired: readingMin, joined: participantsMin + 2 * readingMin };
/** After so long, where the bridge heard of it by an event or a reading. */
export const inAfterHeardMin = workMin;
/** What went wrong before may put off what follows for so long. */
export const undisturbedMin = backoffMin + graceMin;

/** Who is said to be removed and is in all the same is looked for at the next reading. */
export const saidRemovedMin = readingMin;
/** Once it has all come to rest there is no trainer of that kind at all. */
export const restMin = Math.max(...Object.values(outAfterMin).filter(Number.isFinite)) + readingMin;
