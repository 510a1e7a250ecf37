import { AppError } from '../../domain/errors.ts';
import { loadBearing } from '../../memberships/explain-store.ts';
import { isToChange } from '../../operator/explain.ts';
import { explainBudgets } from '../../operator/explain-budgets.ts';
import { explainSubject } from '../../operator/explain-subject.ts';
import { loadMembership } from '../../operator/load-membership.ts';
import { listWhatStopsAll } from '../../operator/load-running.ts';
import { loadTimeline } from '../../operator/timeline/load-timeline.ts';
import { defineOperation } from '../operation-schema.ts';
import { contractParams } from '../schemas/common-schema.ts';
import {
  explainAnswer,
  explainQuery,
  membershipAnswer,
  membershipParams,
  timelineAnswer,
  trainerParams,
} from '../schemas/membership-schema.ts';

/** Why a trainer has access or not, and what happened. */

const tag = 'access';

const getMembership = defineOperation({
  id: 'getMembership',
  method: 'get',
  path: '/memberships/{membership}',
  summary: 'One membership: why it is as it is, and what happened',
  tag,
  params: membershipParams,
  answer: membershipAnswer,
  async run({ params: { membership: id } }, ctx) {
    const found = await loadMembership(ctx, id);
    if (found === undefined) throw new AppError('not_found', `There is no membership ${id}`);
    const { access, nextAttemptAt, isWorkable: canConverge, explanations, timeline } = found;
    return { ...access, nextAttemptAt, canConverge, explanations, timeline };
  },
});

const explain = defineOperation({
  id: 'explain',
  method: 'get',
  path: '/explain',
  summary: 'Why a trainer is in a tool or is not, from contract to login',
  tag,
  query: explainQuery,
  answer: explainAnswer,
  async run({ query: { subject } }, ctx) {
    const { explanations } = await explainSubject(ctx, subject);
    if (explanations.length === 0) throw unknown();
    const troubles = explanations.some(isToChange) ? await listWhatStopsAll(ctx) : [];
    return { explanations, budgets: await explainBudgets(ctx, subject), troubles };
  },
});

const getTrainerTimeline = defineOperation({
  id: 'getTrainerTimeline',
  method: 'get',
  path: '/trainers/{trainer}/timeline',
  summary: 'What happened about a trainer, step by step',
  tag,
  params: trainerParams,
  answer: timelineAnswer,
  async run({ params: { trainer: trainerId } }, ctx) {
    const bearing = await loadBearing(ctx, trainerId);
    const participations = bearing.participations.filter((one) => one.trainerId === trainerId);
    if (participations.length === 0) throw unknown();
    return await loadTimeline(ctx.database, { trainerId }, { ...bearing, participations });
  },
});

const getContractTimeline = defineOperation({
  id: 'getContractTimeline',
  method: 'get',
  path: '/contracts/{contract}/timeline',
  summary: 'What happened about a contract, step by step',
  tag,
  params: contractParams,
  answer: timelineAnswer,
  async run({ params: { contract: contractId } }, ctx) {
    const bearing = await loadBearing(ctx, contractId);
    const isIt = (one: { contractId: string }) => one.contractId === contractId;
    const contracts = bearing.contracts.filter(isIt);
    if (contracts.length === 0) throw unknown();
    const participations = bearing.participations.filter(isIt);
    return await loadTimeline(ctx.database, { contractId }, { ...bearing, contracts, participations });
  },
});

function unknown(): AppError {
  const message = 'Nothing is known of such a person or contract: no event named it, and no reading';
  return new AppError('not_found', message);
}

export const explainOperations = [getMembership, explain, getTrainerTimeline, getContractTimeline];
