import { percentile } from './percentile.ts';

/** What a soak was like at one moment. */
export interface Sample {
  /** Since its begin. */
  seconds: number;
  residentMiB: number;
  anonymousMiB: number;
  /** Of the database with its log. */
  sizeMiB: number;
  /** Of one core, since the sample before. */
  processor: number;
  answerP50: number;
  answerP99: number;
  /** Milliseconds for which the disk kept the longest flush of a file of its own waiting. */
  longestFlush: number;
  /** Milliseconds from the hire to the call that lets the trainer in; NaN where there was none. */
  inP50: number;
  inP99: number;
  deliveriesDue: number;
  membershipsDue: number;
  /** Contracts that have begun up to now: what is known of them stays, so the file grows with them. */
  begun: number;
}

export interface Verdict {
  what: string;
  is: string;
  isGood: boolean;
}

/** A process may have grown by so much at the end of the last two thirds, as a straight line through them has it. */
const mostGrowth = 0.1;
/** What is kept of a contract that is over: evidence, receipts, the journal. */
const keptBytes = 12 * 1024;
/** How much larger the file may become beside that: what comes between two purges, and what a purge leaves free. */
const purgeIntervalSeconds = 600;
const bytesOfDelivery = 2048;

export function judgeSamples(samples: readonly Sample[], rate: number): Verdict[] {
  return [
    judgeMemory('anonymous memory', samples, ({ anonymousMiB }) => anonymousMiB),
    judgeMemory('resident memory', samples, ({ residentMiB }) => residentMiB),
    judgeLatency('answer p50', samples, ({ answerP50 }) => answerP50),
    judgeLatency('answer p99', samples, ({ answerP99 }) => answerP99),
    judgeLatency('hire to tool p50', samples, ({ inP50 }) => inP50),
    judgeSize(samples, rate),
  ];
}

function judgeMemory(what: string, samples: readonly Sample[], of: (sample: Sample) => number): Verdict {
  const rest = samples.slice(Math.floor(samples.length / 3));
  const hours = ((rest.at(-1)?.seconds ?? 0) - (rest[0]?.seconds ?? 0)) / 3600;
  const perHour = slopeOf(rest.map((sample) => [sample.seconds / 3600, of(sample)]));
  const middle = percentile(rest.map(of), 0.5);
  const is = `${middle.toFixed(0)} MiB (median), ${perHour.toFixed(1)} MiB an hour over the last two thirds`;
  return { what, is, isGood: perHour * hours <= middle * mostGrowth };
}

/** It may be half as much again and 5 ms later: machines are not even. */
function judgeLatency(what: string, samples: readonly Sample[], of: (sample: Sample) => number): Verdict {
  const third = Math.floor(samples.length / 3);
  const medianOf = (some: readonly Sample[]) => percentile(some.map(of).filter(Number.isFinite), 0.5);
  const [first, last] = [medianOf(samples.slice(0, third)), medianOf(samples.slice(-third))];
  const is = `${first.toFixed(1)} ms in the first third, ${last.toFixed(1)} ms in the last (medians of samples)`;
  return { what, is, isGood: last <= first * 1.5 + 5 };
}

/** A flush of another file on the same disk is held to be the cause where it took at least half as long. */
const diskShare = 0.5;

/**
 * How many of the slow samples are the disk's.
 *
 * @param slowMs from which p99 on a sample is slow
 */
export function describeSlow(samples: readonly Sample[], slowMs: number): string {
  const slow = samples.filter(({ answerP99 }) => answerP99 >= slowMs);
  const ofDisk = slow.filter(({ answerP99, longestFlush }) => longestFlush >= answerP99 * diskShare);
  return `In ${slow.length} of ${samples.length} samples the p99 was ${slowMs} ms or more; in ${ofDisk.length} of these a flush of another file on this disk took at least half as long.`;
}

function judgeSize(samples: readonly Sample[], rate: number): Verdict {
  const [first, last] = [samples[0], samples.at(-1)];
  const begun = (last?.begun ?? 0) - (first?.begun ?? 0);
  const sizes = samples.map(({ sizeMiB }) => sizeMiB);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const between = rate * purgeIntervalSeconds * bytesOfDelivery;
  const allowed = least + (begun * keptBytes + between) / 1024 / 1024;
  const is = `${first?.sizeMiB.toFixed(0)} MiB at first, ${last?.sizeMiB.toFixed(0)} MiB at last, ${most.toFixed(0)} MiB at most, with ${begun} contracts more`;
  return { what: 'database', is, isGood: most <= allowed };
}

/** Of the straight line that fits best. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
