import type { Decided } from '../engine/plan-store.ts';
import { toInstant } from '../lib/clock.ts';
import type { PlanWork } from '../reconcile/run-store.ts';
import type { Silence } from '../reconcile/silence.ts';
import { type DecidePlanDeps, decidePlan } from './decide-plan.ts';
import { type Patience, type WorkDeps, workUntil } from './do-work.ts';

export type ApprovePlanDeps = WorkDeps & DecidePlanDeps & { silence: Silence };

/**
 * Lets the removals of a plan pass and carries them out, beside a running bridge or without one.
 * After a silence nothing else that is older is carried out with them.
 *
 * @throws AppError `not_found`, or `conflict` where it was decided before
 */
export async function approvePlan(
  deps: ApprovePlanDeps,
  planId: number,
  patience: Patience,
): Promise<Decided & PlanWork> {
  const { silence, runs, clock } = deps;
  await silence.look();
  // Decided after that, so that it counts as newer.
  const by = { ...deps.by, at: toInstant(clock.now()) };
  const decided = await decidePlan({ ...deps, by }, 'approve', planId);
  const countPlan = () => runs.countPlan(planId);
  const done = await workUntil(deps, patience, ({ left }) => left, countPlan);
  return { ...decided, ...done };
}
