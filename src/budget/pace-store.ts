import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { Row } from '../db/schema.ts';
import type { BudgetPace } from '../domain/budget-pace.ts';
import type { ContractKey, Instant } from '../domain/evidence.ts';
import type { Day } from '../domain/usage.ts';

/** An active contract, and when its budget is used up at the pace at which it was last read. */
export type BudgetRunningOut = ContractKey & {
  title: string | null;
  consumedFraction: number | null;
  runsOutAt: Instant;
};

const units = { PAY_PER_HOUR: 'seconds', PAY_PER_LABEL: 'labels' } as const;
const consumedIn = { seconds: 'consumedSeconds', labels: 'consumedLabels' } as const;

/** What uses up the budget. A contract of another kind, such as a fixed price, has no volume that work uses up. */
export function unitOf(paymentType: string | null): 'seconds' | 'labels' | undefined {
  return units[paymentType as keyof typeof units];
}

/**
 * @param since the first day that counts for the pace
 * @returns null where no work uses the budget up
 */
export async function loadPace(tx: Transaction, budget: Row<'budget'>, since: Day): Promise<BudgetPace | null> {
  const unit = unitOf(budget.paymentType);
  if (unit === undefined) return null;
  const worked = await tx
    .selectFrom('usageLedger')
    .select((eb) => eb.fn.sum<number>(unit).as('lately'))
    .where('install', '=', budget.install)
    .where('contractId', '=', budget.contractId)
    // As a computed text, or SQLite would search all contracts by their days.
    .where(sql<string>`day || ''`, '>=', since)
    .executeTakeFirst();
  const { consumedFraction, [consumedIn[unit]]: consumed } = budget;
  return { consumedFraction, consumed, lately: Number(worked?.lately ?? 0) };
}

/** The budgets that are used up by then, the next one first. */
export async function listEnding(
  { kysely }: Database,
  { until, limit }: { until: Instant; limit: number },
): Promise<BudgetRunningOut[]> {
  return await kysely
    .selectFrom('budget')
    .leftJoin('contract', onSame('contract', 'budget', ['install', 'contractId']))
    .select(['budget.install', 'budget.contractId', 'contract.title', 'consumedFraction', 'runsOutAt'])
    // Only the budget of an active contract is read again.
    .where('nextReadAt', 'is not', null)
    .where('runsOutAt', 'is not', null)
    .where('runsOutAt', '<=', until)
    .$narrowType<{ runsOutAt: Instant }>()
    .orderBy('runsOutAt')
    .orderBy('budget.install')
    .orderBy('budget.contractId')
    .limit(limit)
    .execute();
}
