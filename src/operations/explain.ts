import { z } from 'zod';
import { type BudgetAndReading, findBudgets } from '../budget/budget-store.ts';
import { AppError } from '../domain/errors.ts';
import { sayInstant } from '../lib/units.ts';
import type { Bearing } from '../memberships/explain-store.ts';
import { Budget as ListedBudget } from './budgets.ts';
import { Explanation, explainSubject, isToChange } from './explain-reasons.ts';
import { group, type OperationContext, read } from './operation.ts';
import { sayPercent } from './show.ts';
import { loadTimeline, sayTimeline, Timeline } from './timeline.ts';
import { listWhatStopsAll, sayTrouble, Trouble } from './trouble.ts';
import { flag, instant, text } from './values.ts';

/** Why a trainer is in a tool or not. */

const omitted = { title: true, stateSince: true, unit: true, lately: true, endsAt: true, waiting: true } as const;

const Budget = ListedBudget.omit(omitted)
  .extend({ lastNotice: z.object({ state: z.string(), at: instant }).nullable() })
  .meta({ id: 'Budget' });

const ExplainedSubject = z.object({
  explanations: z.array(Explanation),
  budgets: z.array(Budget),
  troubles: z.array(Trouble).describe('What keeps Gangway from acting on it; usually empty.'),
  timeline: Timeline.nullable().describe('Null if it was not asked for.'),
});

export type ExplainedSubject = z.output<typeof ExplainedSubject>;

export const operations = group('explain', {
  show: read('GET /explain', 'Explain why a trainer has access or not, from contract to login', {
    asks: 'services',
    args: ['subject'],
    in: z.strictObject({
      subject: text.describe("A trainer's id or work address, or a contract's id."),
      timeline: flag('Also show what happened, step by step.'),
    }),
    out: ExplainedSubject,
    async run({ subject, timeline }, ctx) {
      const { explanations, bearing } = await explainSubject(ctx, subject);
      if (explanations.length === 0) throw new AppError('not_found', `No trainer or contract matches "${subject}"`);
      return {
        explanations,
        budgets: (await findBudgets(ctx, subject)).map(toBudget),
        troubles: explanations.some(isToChange) ? await listWhatStopsAll(ctx) : [],
        timeline: timeline ? await timelineOf(ctx, subject, bearing) : null,
      };
    },
    show: ({ explanations, budgets, troubles, timeline }) =>
      [
        ...explanations.map(sayExplanation),
        ...budgets.map(sayBudget),
        ...troubles.map(sayTrouble),
        ...(timeline === null ? [] : [sayTimeline(timeline)]),
      ].join('\n\n'),
  }),
});

/** @param subject a contract, or a trainer by id or address */
async function timelineOf({ database }: OperationContext, subject: string, bearing: Bearing) {
  const contracts = bearing.contracts.filter(({ contractId }) => contractId === subject);
  if (contracts.length > 0) {
    const participations = bearing.participations.filter(({ contractId }) => contractId === subject);
    return await loadTimeline(database, { contractId: subject }, { ...bearing, contracts, participations });
  }
  const trainerId = bearing.participations[0]?.trainerId ?? subject;
  const participations = bearing.participations.filter((one) => one.trainerId === trainerId);
  return await loadTimeline(database, { trainerId }, { ...bearing, participations });
}

export function sayExplanation(explanation: Explanation): string {
  const { trainerId, displayName, install, contractId, steps, action } = explanation;
  const name = displayName === null ? '' : ` (${displayName})`;
  return [
    `${trainerId ?? 'no trainer'}${name}, by contract ${contractId} of ${install}`,
    ...steps.map(({ step, holds, says }) => `  ${holds ? 'yes' : 'no '}  ${step.padEnd(10)}  ${says}`),
    `  To do: ${action}`,
  ].join('\n');
}

/** With the last notice of it. */
function toBudget({ notifiedState: state, notifiedAt: at, ...budget }: BudgetAndReading) {
  return { ...budget, lastNotice: state === null || at === null ? null : { state, at } };
}

function sayBudget(budget: z.output<typeof Budget>): string {
  const { install, contractId, askedAt, nextReadAt, failure, lastNotice } = budget;
  const next = nextReadAt === null ? 'no other reading is planned' : `to be read after ${sayInstant(nextReadAt)}`;
  return [
    `The budget of contract ${contractId} of ${install}`,
    `  state  ${sayBudgetState(budget)}`,
    `  read   ${askedAt === null ? 'not yet' : `at ${sayInstant(askedAt)}`}; ${next}`,
    `  notice ${lastNotice === null ? 'none yet' : `${lastNotice.state}, at ${sayInstant(lastNotice.at)}`}`,
    ...(failure === null ? [] : [`  fails  ${failure}`]),
  ].join('\n');
}

function sayBudgetState({ state, consumedFraction, fundedVolume, remainingVolume }: z.output<typeof Budget>): string {
  if (state === null) return 'not known';
  if (consumedFraction === null || fundedVolume === null) return state;
  const left = remainingVolume === null ? '' : `, ${Number(remainingVolume.toFixed(2))} left`;
  return `${state}: ${sayPercent(consumedFraction)} of ${Number(fundedVolume.toFixed(2))} used${left}`;
}
