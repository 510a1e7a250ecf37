import type { World } from './world.ts';

/**
 * Compares the work at the marketplace with the work in the tool: never more than there was, none for strangers, and the
 * same if only one contract led to a project and goes on.
 */
export function findWrongWork({ tool, market }: Pick<World, 'tool' | 'market'>): string[] {
  const wrongs: string[] = [];
  const told = tallyTold(market);
  for (const [seat, seconds] of told) {
    const { most } = tool.work.secondsOf(seat);
    if (seconds > most) wrongs.push(`${seconds} s are told of ${seat}, who worked ${most} s at most`);
  }
  const reasons = Map.groupBy(market.reasons(), ({ seat }) => seat);
  for (const seat of tool.work.seats()) {
    const [reason, ...others] = reasons.get(seat) ?? [];
    const { now, isLowered } = tool.work.secondsOf(seat);
    // An employer's own account takes no work, and lowered work is noticed within a day.
    const isSure = reason?.untilMs === null && others.length === 0 && reason.customer !== 'own' && !isLowered;
    const seconds = told.get(seat) ?? 0;
    if (isSure && seconds !== now) wrongs.push(`${seconds} s are told of ${seat}, who worked ${now} s`);
  }
  return wrongs;
}

/** Seconds by seat, with the project of each contract. */
function tallyTold(market: World['market']): Map<string, number> {
  const told = new Map<string, number>();
  const seatsOf = Map.groupBy(market.reasons(), ({ contractId }) => contractId);
  for (const { id, usage } of market.sandbox.snapshot().contracts) {
    for (const { workerOpentrainUserId: worker, totalSeconds } of usage) {
      const reason = seatsOf.get(id)?.find(({ seat }) => seat.includes(`/${worker}@`));
      const seat = reason?.seat ?? `${id} of ${worker}`;
      told.set(seat, (told.get(seat) ?? 0) + totalSeconds);
    }
  }
  return told;
}
