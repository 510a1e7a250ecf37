import type { ExplainedBudget } from '../operator/explain-budgets.ts';

/** Of what was funded; empty where that is not known. Only what is all used up is 100 %. */
export function toPercent(fraction: number | null): string {
  // As it was divided, 0.29 is a little less.
  return fraction === null ? '' : `${Math.floor(fraction * 100 + 1e-6)} %`;
}

/** Lines of text: how it stands, when it was read and what was told. */
export function toBudgetText(budget: ExplainedBudget): string {
  const { install, contractId, askedAt, nextReadAt, failure, told } = budget;
  const next = nextReadAt === null ? 'not read any more' : `to be read after ${nextReadAt}`;
  const lines = [
    `The budget of contract ${contractId} of ${install}`,
    `  state  ${toStateText(budget)}`,
    `  read   ${askedAt === null ? 'not yet' : `at ${askedAt}`}; ${next}`,
    `  told   ${told === null ? 'nothing yet' : `${told.state}, at ${told.at}`}`,
  ];
  return [...lines, ...(failure === null ? [] : [`  fails  ${failure}`])].join('\n');
}

function toStateText({ state, consumedFraction, ...budget }: ExplainedBudget): string {
  const { fundedVolume, remainingVolume } = budget;
  if (state === null) return 'not known';
  if (consumedFraction === null || fundedVolume === null) return state;
  const left = remainingVolume === null ? '' : `, ${remainingVolume} left`;
  return `${state}: ${toPercent(consumedFraction)} of ${fundedVolume} used${left}`;
}
