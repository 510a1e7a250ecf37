import type { Context } from '../../context.ts';
import { readSetting } from '../../db/setting-store.ts';
import type { Counts } from '../../domain/usage.ts';
import { instantIn } from '../../lib/clock.ts';
import { addDays } from '../../lib/days.ts';
import { type DayKey, reportIdOf } from '../report/ledger-store.ts';
import { planInstall, reportedOf } from '../report/plan-install.ts';
import { type DueAndLedger, listLowered } from './due-store.ts';

/** A day whose counts changed after it was sent for the last time. */
export interface LateDay extends DayKey {
  /** Names the day for the operator's decision. */
  id: string;
  from: Counts;
  to: Counts;
}

/** They are listed until an operator sends or dismisses them, whatever their age. */
export async function listLate(ctx: Context, installs: readonly string[]): Promise<LateDay[]> {
  const late: LateDay[] = [];
  const closedBefore = await readSetting(ctx.database.kysely, 'usage_closed_before');
  if (closedBefore === undefined) return late;
  for (const install of reportedOf(ctx, installs)) {
    for await (const plan of planInstall(ctx, install, { installs, to: addDays(closedBefore, -1) })) {
      for (const { contractId, trainerId, day, counts, before } of plan.late) {
        const key = { install, contractId, trainerId, day };
        late.push({ ...key, id: reportIdOf(key), from: before, to: counts });
      }
    }
  }
  return late;
}

/** A day of which less is due than was reported. */
export interface Lowering extends DayKey {
  /** `held`: an operator has to accept it; `reported`: it was sent. */
  state: 'held' | 'reported';
  /** Since when it is held, or when it was sent. */
  since: string;
  from: Counts;
  /** Null where nothing is seen of the day at present. */
  to: Counts | null;
}

/** Held days of any age, and days that were reported lower within the look-back. */
export async function listLowerings(ctx: Context, installs: readonly string[]): Promise<Lowering[]> {
  const since = instantIn(ctx.clock, -ctx.config.usage.lookbackMs);
  const days = await Promise.all(installs.map((install) => listLowered(ctx, install, since)));
  return days.flat().flatMap((day) => toLowerings(day, since));
}

function toLowerings({ due, ledger, ...key }: DueAndLedger, since: string): Lowering[] {
  if (ledger === undefined) return [];
  const { heldSince, lowered, answered } = ledger;
  return [
    ...(heldSince === null
      ? []
      : [{ ...key, state: 'held', since: heldSince, from: answered, to: due?.counts ?? null } as const]),
    ...(lowered === null || lowered.at < since
      ? []
      : [{ ...key, state: 'reported', since: lowered.at, from: lowered.from, to: answered } as const]),
  ];
}
