import type { Day } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import type { Clock } from '../../lib/clock.ts';

export interface ReportTime {
  now: Date;
  /** How far back days are read and reported again. */
  lookbackMs: number;
}

const dayMs = 86_400_000;
/** Days that have just left the look-back: what changes there is shown. */
const marginMs = 2 * dayMs;

/** Of the days that are reported again, the first. */
export function firstOpenDay({ now, lookbackMs }: ReportTime): Day {
  return addDays(now.toISOString().slice(0, 10), -Math.ceil(lookbackMs / dayMs));
}

/** Of the days that are read again, the first. */
export function firstReadDay({ lookbackMs, clock }: { lookbackMs: number; clock: Clock }): Day {
  return firstOpenDay({ now: clock.now(), lookbackMs: lookbackMs + marginMs });
}
