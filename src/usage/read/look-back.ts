import type { Context } from '../../context.ts';
import type { Day } from '../../domain/usage.ts';
import { dayMs } from '../../lib/clock.ts';
import { addDays } from '../../lib/days.ts';

export interface ReportTime {
  now: Date;
  /** How long days are read and reported again. */
  lookbackMs: number;
}

export function reportTimeOf({ config, clock }: Context): ReportTime {
  return { now: clock.now(), lookbackMs: config.usage.lookbackMs };
}

/** Days that have just left the look-back are still read, to show late changes. */
const marginMs = 2 * dayMs;

/** The first day that is reported again. */
export function firstOpenDay({ now, lookbackMs }: ReportTime): Day {
  return addDays(now.toISOString().slice(0, 10), -Math.ceil(lookbackMs / dayMs));
}

/** The first day that is read again. */
export function firstReadDay(ctx: Context): Day {
  const { now, lookbackMs } = reportTimeOf(ctx);
  return firstOpenDay({ now, lookbackMs: lookbackMs + marginMs });
}
