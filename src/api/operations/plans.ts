import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';
import { describeCause } from '../../domain/standing.ts';
import { pageById } from '../../operations/cursor.ts';
import type { BegunApproval } from '../../operator/approvals.ts';
import { decidePlan } from '../../operator/decide-plan.ts';
import { findPlan, listPlanItems, pagePlans } from '../../removals/plan-store.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  approvalAnswer,
  approvalParams,
  approveBody,
  planAnswer,
  planPage,
  planParams,
  planQuery,
  rejectBody,
  rejectedAnswer,
} from '../schemas/plan-schema.ts';

/** The removals that the brake holds, for an operator to decide about. */

const tag = 'plans';

/** So long an approval is waited for: reading the installs of a plan can take a minute. */
const waitsMs = 5000;

const listPlans = defineOperation({
  id: 'listPlans',
  method: 'get',
  path: '/plans',
  summary: 'The plans, the newest first',
  tag,
  query: planQuery,
  answer: planPage,
  run: ({ query: { install, state, ...wish } }, ctx) =>
    pageById('listPlans', wish, (before, limit) => pagePlans(ctx, { install, state, before, limit })),
});

const getPlan = defineOperation({
  id: 'getPlan',
  method: 'get',
  path: '/plans/{plan}',
  summary: 'Who a plan would remove, and why',
  tag,
  params: planParams,
  answer: planAnswer,
  async run({ params: { plan: id } }, ctx) {
    const plan = await findPlan(ctx, id);
    if (plan === undefined) throw new AppError('not_found', `There is no plan ${id}`);
    const items = await listPlanItems(ctx, id);
    return { ...plan, items: items.map((item) => ({ ...item, because: describeCause(item.cause) })) };
  },
});

const approve = defineOperation({
  id: 'approvePlan',
  method: 'post',
  path: '/plans/{plan}/approve',
  summary: 'Remove the people of a plan whose evidence has not changed since it was made',
  tag,
  params: planParams,
  body: approveBody,
  answer: approvalAnswer,
  async run({ params, body: { only, withoutReading }, by }, ctx) {
    const wish = { only, isUnread: withoutReading === true };
    const approval = await ctx.approvals.begin(ctx, by, params.plan, wish);
    const late = new AbortController();
    await Promise.race([approval.ended, wait(waitsMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    return toAnswer(approval);
  },
});

const getApproval = defineOperation({
  id: 'getApproval',
  method: 'get',
  path: '/plans/{plan}/approvals/{approval}',
  summary: 'What became of the approval of a plan',
  tag,
  params: approvalParams,
  answer: approvalAnswer,
  run({ params: { plan, approval: id } }, { approvals }) {
    const approval = approvals.find(id);
    if (approval?.plan !== plan) {
      throw new AppError('not_found', 'This instance does not know of such an approval, or no longer: see the plan');
    }
    return toAnswer(approval);
  },
});

/** @throws AppError why it could not be approved */
function toAnswer({ id, plan, outcome }: BegunApproval) {
  if (outcome !== null && 'error' in outcome) throw outcome.error;
  return { plan, approval: id, result: outcome?.approved ?? null };
}

const reject = defineOperation({
  id: 'rejectPlan',
  method: 'post',
  path: '/plans/{plan}/reject',
  summary: 'Keep the people of a plan until there is new evidence about them',
  tag,
  params: planParams,
  body: rejectBody,
  answer: rejectedAnswer,
  async run({ params: { plan }, body: { only }, by }, ctx) {
    return { plan, ...(await decidePlan(ctx, by, 'reject', plan, { only })) };
  },
});

export const planOperations = [listPlans, getPlan, approve, getApproval, reject];
