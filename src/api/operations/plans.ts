import { AppError } from '../../domain/errors.ts';
import { describeCause } from '../../domain/standing.ts';
import { createEvidenceStore } from '../../evidence/evidence-store.ts';
import { approvePlan } from '../../operator/approve-plan.ts';
import { decidePlan } from '../../operator/decide-plan.ts';
import { createPlanStore } from '../../removals/plan-store.ts';
import { pageById } from '../cursor.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  approveBody,
  approvedAnswer,
  planAnswer,
  planPage,
  planParams,
  planQuery,
  rejectBody,
  rejectedAnswer,
} from '../schemas/plan-schema.ts';

/** The removals that the brake holds, for an operator to decide about. */

const tag = 'plans';

const listPlans = defineOperation({
  id: 'listPlans',
  method: 'get',
  path: '/plans',
  summary: 'The plans, the newest first',
  tag,
  query: planQuery,
  answer: planPage,
  run: ({ query: { install, state, ...wish } }, { database }) =>
    pageById('listPlans', wish, (before, limit) => createPlanStore(database).page({ install, state, before, limit })),
});

const getPlan = defineOperation({
  id: 'getPlan',
  method: 'get',
  path: '/plans/{plan}',
  summary: 'Who a plan would remove, and why',
  tag,
  params: planParams,
  answer: planAnswer,
  async run({ params: { plan: id } }, { database }) {
    const store = createPlanStore(database);
    const plan = await store.find(id);
    if (plan === undefined) throw new AppError('not_found', `There is no plan ${id}`);
    const items = await store.show(id);
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
  answer: approvedAnswer,
  async run({ params: { plan }, body: { only, withoutReading }, by, signal }, { services, database, installs }) {
    const deps = { ...services, plans: createPlanStore(database), by };
    // The workers of this process carry it out.
    const patience = { waitMs: 0, signal, onProgress: () => undefined };
    const wish = { patience, only, isUnread: withoutReading === true };
    return { plan, ...(await approvePlan(deps, plan, [...installs.keys()], wish)) };
  },
});

const reject = defineOperation({
  id: 'rejectPlan',
  method: 'post',
  path: '/plans/{plan}/reject',
  summary: 'Keep the people of a plan until there is new evidence about them',
  tag,
  params: planParams,
  body: rejectBody,
  answer: rejectedAnswer,
  async run({ params: { plan }, body: { only }, by }, { database, box }) {
    const deps = { database, plans: createPlanStore(database), evidence: createEvidenceStore(database, box), by };
    return { plan, ...(await decidePlan(deps, 'reject', plan, { only })) };
  },
});

export const planOperations = [listPlans, getPlan, approve, reject];
