import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { lockEvidence } from '../memberships/lock-evidence.ts';
import { decidePlanItems, type PlanResult } from '../removals/plan-store.ts';

export type PlanDecision = 'approve' | 'reject';
const outcomes = { approve: 'approved', reject: 'rejected' } as const;

/**
 * Stores what an operator decided about the removals that a plan holds. The running workers execute them.
 *
 * @param only these memberships of it; the rest stays in the open plan
 * @param how it was decided, for the audit, where there are several kinds
 * @throws AppError `not_found`, or `conflict` where it was decided before
 */
export async function decidePlan(
  ctx: Storage,
  by: By,
  decision: PlanDecision,
  planId: number,
  { only, how = '' }: { only?: readonly number[] | undefined; how?: string } = {},
): Promise<PlanResult> {
  if (only?.length === 0) throw new AppError('invalid', 'Choose at least one person');
  return await inTransaction(ctx.database, async (tx) => {
    // Deriving memberships must not change them between the look and the write.
    await lockEvidence(ctx, tx);
    const decided = await decidePlanItems(ctx, tx, planId, outcomes[decision], by.at, only);
    const which = only === undefined ? '' : `, memberships ${only.join(', ')}`;
    await writeAudit(tx, by, `plans ${decision}${how}`, `plan ${planId}${which}`, sayChange(decision, decided));
    return decided;
  });
}

/** What waited in the plan, and what became of it. */
function sayChange(decision: PlanDecision, { decided, stale, open }: PlanResult) {
  const after = `${decided} ${outcomes[decision]}, ${stale} stale, ${open} open`;
  return { before: `${decided + stale + open} open`, after };
}
