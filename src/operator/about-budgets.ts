import { countBudgetsByState, countFailingBudgets } from '../budget/budget-store.ts';
import { listFailingReaders } from '../budget/reader-store.ts';
import type { Storage } from '../keys/storage.ts';
import { ifAny, worryingFailures } from './attention.ts';

/** What `gangway status` says of budgets: those of active contracts. */
export interface BudgetStatus {
  counts: Awaited<ReturnType<typeof countBudgetsByState>>;
  /** Contracts whose budget cannot be read although the install answers. */
  failing: number;
  /** Installs that do not answer. */
  silent: { install: string; failure: string }[];
}

/** @param configured the existing installs: for others nothing is read any more */
export async function loadBudgets(
  ctx: Storage,
  configured: Pick<ReadonlyMap<string, unknown>, 'has'>,
): Promise<BudgetStatus> {
  const isConfigured = ({ install }: { install: string }) => configured.has(install);
  const failing = (await countFailingBudgets(ctx, worryingFailures)).filter(isConfigured);
  return {
    counts: (await countBudgetsByState(ctx)).filter(isConfigured),
    failing: failing.reduce((total, { count }) => total + count, 0),
    silent: (await listFailingReaders(ctx, worryingFailures)).filter(isConfigured),
  };
}

/** What an operator has to look at, and what to do about it. */
export function aboutBudgets({ counts, failing, silent }: BudgetStatus) {
  const inState = (wanted: string) =>
    counts.reduce((total, { state, count }) => total + (state === wanted ? count : 0), 0);
  const list = 'gangway contracts list --budget';
  const said = [
    [
      'budgets that are used up',
      inState('depleted'),
      `${list} depleted, then have them funded`,
      '/budgets?state=depleted',
    ],
    ['budgets that are running out', inState('low'), `${list} low, then have them funded`, '/budgets?state=low'],
    ['budgets that cannot be read', failing, 'gangway explain <contract> says why; see the log', '/budgets'],
  ] as const;
  return [
    ...said.flatMap(([what, count, action, page]) => ifAny(what, count, action, page)),
    ...silent.map(({ install, failure }) => ({
      says: `the budgets of ${install} cannot be read: ${failure}`,
      action: `check installs.${install}.token and its scopes; it is tried again by itself`,
      page: `/installs/${encodeURIComponent(install)}`,
    })),
  ];
}
