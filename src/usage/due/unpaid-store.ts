import { sql } from 'kysely';
import type { Storage } from '../../context.ts';
import type { Day } from '../../domain/usage.ts';
import { differs, sameDay } from './due-store.ts';

// The SQL of work that is not paid, and of what it is worth.

/**
 * Why work is not paid, or may be paid wrongly, until an operator acts. `held`: its contract is not known; `lowering`:
 * a run would lower too much; `refused`: by the marketplace; `late`: it changed after the last report of its day.
 */
export type UsageTroubleKind = 'held' | 'lowering' | 'refused' | 'late';

export interface UsageTrouble {
  kind: UsageTroubleKind;
  /** Empty for held work that may be of several installs, or of none. */
  install: string;
  /** Days of trainers. */
  days: number;
  seconds: number;
  oldest: Day;
}

/** Days that changed after their last report. The days that may still be sent are skipped: there may be a million. */
const lateDays = sql`usage_due d join usage_ledger l on ${sameDay}
  where d.is_open = 1 and d.day < (select value from setting where name = 'usage_closed_before')
    and l.closed_at is not null and l.state = 'answered' and ${differs}`;

const refusedDays = sql`usage_ledger l join usage_due d on ${sameDay} where l.state = 'refused' and ${differs}`;

/** All of it, however old, by kind and install. */
export async function listUsageTroubles(ctx: Storage): Promise<UsageTrouble[]> {
  const sums = sql`count(*) as days, coalesce(sum(seconds), 0) as seconds, min(day) as oldest`;
  const queries = {
    held: sql`select install, ${sums} from usage_held where state = 'held' group by install`,
    lowering: sql`select install, ${sums} from usage_ledger
      where lowering_held_at is not null group by install`,
    refused: sql`select l.install, count(*) as days, coalesce(sum(d.seconds - coalesce(l.seconds, 0)), 0) as seconds,
      min(l.day) as oldest from ${refusedDays} group by l.install`,
    // Grouped by an expression, or SQLite would scan all open days in the order of the installs.
    late: sql`select d.install || '' as install, count(*) as days, coalesce(sum(d.seconds - coalesce(l.seconds, 0)), 0) as seconds,
      min(d.day) as oldest from ${lateDays} group by d.install || ''`,
  };
  const troubles: UsageTrouble[] = [];
  for (const kind of ['held', 'lowering', 'refused', 'late'] as const) {
    const { rows } = await sql<Omit<UsageTrouble, 'kind'>>`${queries[kind]} order by 1`.execute(ctx.database.kysely);
    for (const row of rows) troubles.push({ ...row, kind, seconds: Number(row.seconds) });
  }
  return troubles;
}

/** The pay of one second, or one label, by the budget of the contract. */
export interface Rate {
  unit: 'seconds' | 'labels';
  usd: number;
}

/** By contract. The marketplace counts time in hours. */
export async function loadRates(ctx: Storage, install: string): Promise<Map<string, Rate>> {
  const rows = await ctx.database.kysely
    .selectFrom('budget')
    .select(['contractId', 'paymentType', 'fundedVolume', 'fundedAmountUsd'])
    .where('install', '=', install)
    .where('fundedVolume', '>', 0)
    .where('fundedAmountUsd', '>', 0)
    .execute();
  return new Map(
    rows.flatMap(({ contractId, paymentType, fundedVolume, fundedAmountUsd }): [string, Rate][] => {
      const usd = Number(fundedAmountUsd) / Number(fundedVolume);
      if (paymentType === 'PAY_PER_HOUR') return [[contractId, { unit: 'seconds', usd: usd / 3600 }]];
      return paymentType === 'PAY_PER_LABEL' ? [[contractId, { unit: 'labels', usd }]] : [];
    }),
  );
}
