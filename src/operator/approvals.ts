import { randomBytes } from 'node:crypto';
import type { Context } from '../context.ts';
import type { By } from '../db/audit-store.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { findOpenPlan } from '../removals/plan-store.ts';
import { type Approval, type Approved, approvePlan } from './approve-plan.ts';

/**
 * Approvals of plans that no request waits for: the installs are read first, for up to a minute. What is under way, and the
 * outcome of the latest, is known to this instance alone. One that is cut off has approved nothing.
 */
export interface Approvals {
  /** @throws AppError where the plan cannot be approved at all */
  begin(ctx: Context, by: By, planId: number, wish: ApprovalWish): Promise<BegunApproval>;
  find(id: string): BegunApproval | undefined;
  /** Ends those that are under way. */
  stop(): Promise<void>;
}

export type ApprovalWish = Pick<Approval, 'only' | 'isUnread'>;

export interface BegunApproval {
  id: string;
  plan: number;
  by: By;
  /** Null while it is under way. */
  outcome: { approved: Approved } | { error: AppError } | null;
  /** Resolves with the outcome, and never rejects. */
  ended: Promise<void>;
}

const mostKept = 100;

export function createApprovals(logger: Logger): Approvals {
  const kept = new Map<string, BegunApproval>();
  const stopping = new AbortController();

  async function run(approval: BegunApproval, work: Promise<Approved>): Promise<void> {
    try {
      approval.outcome = { approved: await work };
    } catch (thrown) {
      const error = toAppError(thrown);
      if (error.code === 'internal') logger.error({ err: error, plan: approval.plan }, 'A plan could not be approved');
      approval.outcome = { error };
    }
  }

  return {
    async begin(ctx, by, planId, wish) {
      if (wish.only?.length === 0) throw new AppError('invalid', 'Choose at least one person');
      await findOpenPlan(ctx.database.kysely, planId);
      const id = randomBytes(8).toString('hex');
      const approval = { id, plan: planId, by, outcome: null, ended: Promise.resolve() };
      // The workers of this process carry it out.
      const patience = { loops: [], waitMs: 0, signal: stopping.signal, onProgress: () => undefined };
      approval.ended = run(approval, approvePlan(ctx, by, planId, { ...wish, patience }));
      kept.set(id, approval);
      for (const oldest of [...kept.keys()].slice(0, -mostKept)) kept.delete(oldest);
      return approval;
    },
    find: (id) => kept.get(id),
    async stop() {
      stopping.abort();
      await Promise.all([...kept.values()].map(({ ended }) => ended));
    },
  };
}
