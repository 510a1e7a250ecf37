import { toPublicMilestone } from './public-shapes.ts';
import type { BudgetWarning, SandboxContract } from './sandbox-state.ts';

const thresholds: readonly { warning: BudgetWarning; fraction: number }[] = [
  { warning: 'LOW', fraction: 0.8 },
  { warning: 'DEPLETED', fraction: 1 },
];

export type Budget = ReturnType<typeof budgetOf>;

export function budgetOf(contract: SandboxContract) {
  const { paymentType } = contract.job;
  const consumed = sumUsage(contract);
  const funded = contract.milestones.filter(({ status }) => status !== 'NOT_FUNDED');
  const fundedVolume = sum(funded.map(({ volume }) => volume));
  const active = funded.find(({ status }) => status === 'ACTIVE_FUNDED');
  const volumes = { PAY_PER_HOUR: consumed.hours, PAY_PER_LABEL: consumed.labels, FIXED_PRICE: 0 };
  const spent = paymentType === null ? 0 : volumes[paymentType];
  const consumedFraction = fundedVolume > 0 ? spent / fundedVolume : 0;
  return {
    contractId: contract.id,
    paymentType,
    state: thresholds.findLast(({ fraction }) => consumedFraction >= fraction)?.warning ?? 'OK',
    fundedVolume,
    fundedAmountUsd: sum(funded.map(({ amountUsd }) => amountUsd)),
    consumed,
    consumedVolume: spent,
    remainingVolume: Math.max(0, fundedVolume - spent),
    consumedFraction,
    activeMilestone: active === undefined ? null : toPublicMilestone(active),
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

function sumUsage(contract: SandboxContract) {
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
