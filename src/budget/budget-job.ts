import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import type { Job, JobKind } from '../jobs/job.ts';
import { toInstant } from '../lib/clock.ts';
import { noteUnknownBudget } from './budget-store.ts';
import { keepBudget } from './keep-budget.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * Reads the budget of a contract when it begins, when events mention it, and from time to time. A budget is what is left
 * of the money that a contract was funded with. Only readings set it: an event asks for a reading, and a later request
 * beats an earlier one. Nothing here changes memberships or reports.
 */
export const budgetJob: JobKind = {
  name: 'budget',
  atOnce: 4,
  // One request with all its retries.
  leaseMs: 1.5 * minuteMs,
  stallMs: 5 * minuteMs,
  installs: ({ sources }) => sources.keys(),
  restsTogether: true,
  run: readBudget,
};

async function readBudget(ctx: Context, { key, install }: Job, signal: AbortSignal): Promise<number | null> {
  const source = ctx.sources.get(install);
  if (source === undefined) throw new AppError('invalid', `The install ${install} is not configured`);
  const contractId = key.slice(install.length + 1);
  const askedAt = toInstant(ctx.clock.now());
  const budget = await source.readBudget(contractId, signal).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  });
  if (budget === null) {
    await noteUnknownBudget(ctx, { install, contractId }, askedAt);
    return dayMs;
  }
  const { nextReadAt } = await keepBudget(ctx, { install, contractId, budget, askedAt });
  return Math.max(0, Date.parse(nextReadAt) - ctx.clock.now().getTime());
}
