import { AppError } from '../../domain/errors.ts';
import { loadRunning } from '../../operator/about-instances.ts';
import { loadTools } from '../../operator/about-tools.ts';
import { isToChange } from '../../operator/explain.ts';
import { explainAt } from '../../operator/explain-at.ts';
import { explainBudgets } from '../../operator/explain-budgets.ts';
import { type ExplainDeps, explainSubject } from '../../operator/explain-subject.ts';
import { loadMembership } from '../../operator/load-membership.ts';
import { loadTimeline } from '../../operator/timeline/load-timeline.ts';
import type { ApiParts } from '../api-parts.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  explainAnswer,
  explainQuery,
  membershipAnswer,
  membershipParams,
  timelineAnswer,
  timelineQuery,
} from '../schemas/membership-schema.ts';
import { toMember } from './to-member.ts';

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
  async run({ params: { membership: id } }, parts) {
    const found = await loadMembership(await toDeps(parts), id);
    if (found === undefined) throw new AppError('not_found', `There is no membership ${id}`);
    const { access, nextAttemptAt, isWorkable: canConverge, explanations, timeline } = found;
    return { ...toMember(access), nextAttemptAt, canConverge, explanations, timeline };
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
  async run({ query: { subject, at } }, parts) {
    const { database, clock } = parts;
    if (at !== undefined) {
      const { explanations } = await explainAt(parts, subject, new Date(at).toISOString());
      if (explanations.length === 0) throw unknown();
      return { explanations, budgets: [], attention: [] };
    }
    const running = await loadRunning(database, clock);
    const { explanations } = await explainSubject({ ...(await toDeps(parts)), tools: running.tools }, subject);
    if (explanations.length === 0) throw unknown();
    const isRunning = running.instances.some(({ state }) => state === 'running');
    const attention = isRunning || !explanations.some(isToChange) ? [] : running.attention;
    return { explanations, budgets: await explainBudgets(database, subject), attention };
  },
});

const getTimeline = defineOperation({
  id: 'getTimeline',
  method: 'get',
  path: '/timeline',
  summary: 'What happened about a trainer or a contract, step by step',
  tag,
  query: timelineQuery,
  answer: timelineAnswer,
  async run({ query: { trainer, contract } }, parts) {
    if ((trainer === undefined) === (contract === undefined)) {
      throw new AppError('invalid', 'Name either a trainer or a contract');
    }
    const { bearing } = await explainSubject(await toDeps(parts), trainer ?? contract ?? '');
    const isOf = (one: { trainerId: string | null; contractId: string }) =>
      trainer === undefined ? one.contractId === contract : one.trainerId === trainer;
    const participations = bearing.participations.filter(isOf);
    const contracts = bearing.contracts.filter((one) => contract === undefined || one.contractId === contract);
    if (participations.length + (contract === undefined ? 0 : contracts.length) === 0) throw unknown();
    const of = trainer === undefined ? { contractId: contract ?? '' } : { trainerId: trainer };
    return await loadTimeline(parts.database, of, { ...bearing, contracts, participations });
  },
});

function unknown(): AppError {
  const message = 'Nothing is known of such a person or contract: no event named it, and no reading';
  return new AppError('not_found', message);
}

async function toDeps({ database, box, installs, adapters, config, clock }: ApiParts): Promise<ExplainDeps> {
  const { managedDomains } = config.marketplace;
  const { tools } = await loadTools(database, clock.now());
  return { database, box, installs, adapters, managedDomains, tools };
}

export const explainOperations = [getMembership, explain, getTimeline];
