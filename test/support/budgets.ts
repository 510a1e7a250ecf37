import type { Row } from '../../src/db/schema.ts';
import { Budget as BudgetSchema } from '../../src/marketplace/contract/records.ts';
import type { Budget } from '../../src/marketplace/source.ts';

/** A budget as the marketplace answers it. */
export function toBudget(state: string, wanted: Partial<Budget> = {}): Budget {
  const amounts = {
    fundedVolume: 10,
    consumedVolume: 1,
    remainingVolume: 9,
    consumedFraction: 0.1,
  };
  return { ...BudgetSchema.parse({ contractId: 'cmc1', state, ...amounts }), ...wanted };
}

/** A contract of whose budget nothing is known. */
export const noBudget: Row<'budget'> = {
  install: 'acme',
  contractId: 'cmc1',
  state: null,
  stateSince: null,
  paymentType: null,
  fundedVolume: null,
  fundedAmountUsd: null,
  consumedVolume: null,
  remainingVolume: null,
  consumedFraction: null,
  consumedSeconds: null,
  consumedLabels: null,
  consumedTasks: null,
  lastUsageAt: null,
  askedAt: null,
  isWatched: false,
  metEventAt: null,
  notFoundAt: null,
  notifiedState: null,
  notifiedAt: null,
  notifiedFundedVolume: null,
};
