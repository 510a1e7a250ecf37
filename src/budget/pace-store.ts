import type { Database } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { BudgetPace } from '../domain/budget-pace.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Day } from '../domain/usage.ts';

/** The pace of each active contract whose budget was read. */
export type PacedContract = ContractKey & BudgetPace & { title: string | null };

const units = { PAY_PER_HOUR: 'seconds', PAY_PER_LABEL: 'labels' } as const;
const consumedIn = { seconds: 'consumedSeconds', labels: 'consumedLabels' } as const;

/** What uses up the budget. A contract of another kind, such as a fixed price, has no volume that work uses up. */
export function unitOf(paymentType: string | null): 'seconds' | 'labels' | undefined {
  return units[paymentType as keyof typeof units];
}

/** @param since the first day that counts for the pace */
export async function listPaces({ kysely }: Database, since: Day): Promise<PacedContract[]> {
  const budgets = await kysely
    .selectFrom('budget')
    .innerJoin('contract', onSame('contract', 'budget', ['install', 'contractId']))
    .select(['budget.install', 'budget.contractId', 'contract.title'])
    .select(['paymentType', 'consumedFraction', 'consumedSeconds', 'consumedLabels'])
    // Only the budget of an active contract is read again.
    .where('nextReadAt', 'is not', null)
    .where('consumedFraction', 'is not', null)
    .execute();
  const worked = await kysely
    .selectFrom('usageLedger')
    .select(['install', 'contractId'])
    .select((eb) => [eb.fn.sum<number>('seconds').as('seconds'), eb.fn.sum<number>('labels').as('labels')])
    .where('day', '>=', since)
    .groupBy(['install', 'contractId'])
    .execute();
  const lately = new Map(worked.map((row) => [keyOf(row), row]));
  return budgets.flatMap(({ install, contractId, title, consumedFraction, paymentType, ...consumed }) => {
    const unit = unitOf(paymentType);
    if (unit === undefined) return [];
    const counted = Number(lately.get(keyOf({ install, contractId }))?.[unit] ?? 0);
    return [{ install, contractId, title, consumedFraction, consumed: consumed[consumedIn[unit]], lately: counted }];
  });
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}
