import type { Budget, PaymentType } from './platform-answer-schema.ts';
import type { BudgetWarning, SandboxContract } from './sandbox-state.ts';

const thresholds: readonly { warning: BudgetWarning; fraction: number }[] = [
  { warning: 'LOW', fraction: 0.8 },
  { warning: 'DEPLETED', fraction: 1 },
];

export function budgetOf(contract: SandboxContract): Budget {
  const { paymentType } = contract.job;
  const consumed = sumUsage(contract);
  const fundedVolume = sum(contract.milestones.map(({ volume }) => volume));
  const consumedVolume = { PAY_PER_HOUR: consumed.hours, PAY_PER_LABEL: consumed.labels };
  const spent = isMetered(paymentType) ? consumedVolume[paymentType] : 0;
  const consumedFraction = fundedVolume > 0 ? spent / fundedVolume : 0;
  return {
    contractId: contract.id,
    paymentType,
    state: thresholds.findLast(({ fraction }) => consumedFraction >= fraction)?.warning ?? 'OK',
    fundedVolume,
    fundedAmountUsd: sum(contract.milestones.map(({ amountUsd }) => amountUsd)),
    consumed,
    consumedVolume: spent,
    remainingVolume: Math.max(0, fundedVolume - spent),
    consumedFraction,
    activeMilestone: contract.milestones.find(({ status }) => status === 'ACTIVE_FUNDED') ?? null,
    lastUsageAt: contract.lastUsageAt,
  };
}

/** The thresholds that this usage reached, except those announced since the last funding. */
export function planWarnings(before: Budget, after: Budget, contract: SandboxContract): BudgetWarning[] {
  return thresholds
    .filter(
      ({ warning, fraction }) =>
        before.consumedFraction < fraction && after.consumedFraction >= fraction && !contract.warned.has(warning),
    )
    .map(({ warning }) => warning);
}

function isMetered(paymentType: PaymentType | null): paymentType is Exclude<PaymentType, 'FIXED_PRICE'> {
  return paymentType !== null && paymentType !== 'FIXED_PRICE';
}

function sumUsage(contract: SandboxContract): Budget['consumed'] {
  const days = [...contract.usage.values()];
  const seconds = sum(days.map(({ totalSeconds }) => totalSeconds));
  return {
    seconds,
    hours: seconds / 3600,
    labels: sum(days.map(({ labelsCompleted }) => labelsCompleted)),
    tasks: sum(days.map(({ tasksCompleted }) => tasksCompleted)),
  };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
