import { clockwork } from './clockwork.ts';
import type { Lookout } from './run.ts';
import type { World } from './world.ts';

/** What the customers of platforms have from a rule, however it comes to it. */
export interface Tally extends Lookout {
  counts(): { wrong: number; late: number; decisions: number };
}

const minuteMs = 60_000;
/** What began so lately may not be known to anyone yet. */
const freshMs = 20 * minuteMs;
const lateMs = 4 * 60 * minuteMs;

export function createTally({ tool, market, isMeddledWith }: World): Tally {
  const counts = { wrong: 0, late: 0, decisions: 0 };
  /** Counted once for each stay. */
  const late = new Set<string>();
  const added = new Set<string>();
  const isOfPlatform = (seat: string) => !seat.startsWith('own-');
  const reasonsOf = (seat: string) => market.reasons().filter((reason) => reason.seat === seat);

  /** The marketplace or a person has said so, by mistake. */
  const wasSaidEnded = (contractId: string) =>
    market.contracts.some(({ id, saidEnded }) => id === contractId && saidEnded !== null);

  tool.onAdd = (seat) => {
    added.add(seat);
    late.delete(seat);
  };
  tool.onRemove = (seat) => {
    const isWanted = reasonsOf(seat).some(
      ({ untilMs, sinceMs, contractId }) =>
        untilMs === null && clockwork.nowMs() - sinceMs > freshMs && !wasSaidEnded(contractId),
    );
    if (isWanted && isOfPlatform(seat)) counts.wrong += 1;
  };
  return {
    counts: () => counts,
    goesOn: () => true,
    onDecisions(count) {
      counts.decisions += count;
    },
    async look() {
      for (const seat of tool.seats()) {
        if (!added.has(seat) || late.has(seat) || !isOfPlatform(seat) || isMeddledWith(seat)) continue;
        const reasons = reasonsOf(seat);
        if (reasons.some(({ ending }) => ending !== 'ended')) continue;
        const lastMs = Math.max(...reasons.map(({ untilMs }) => untilMs ?? 0));
        if (clockwork.nowMs() - lastMs <= lateMs) continue;
        late.add(seat);
        counts.late += 1;
      }
    },
  };
}
