import { z } from 'zod';
import { planStates } from '../domain/brake.ts';
import { membershipStates } from '../domain/membership.ts';
import { describeRequired } from '../domain/required-readings.ts';
import { describeCause } from '../domain/standing.ts';
import { sayCount } from '../lib/text.ts';
import { countStaying, listMemberships } from '../memberships/membership-list-store.ts';
import { findPlan, listPlanItems, pagePlans } from '../removals/plan-store.ts';
import { loadRequired } from '../removals/reading-store.ts';
import { scopeOfLink } from '../usage/read/scope-store.ts';
import { person, whoColumns } from './access.ts';
import { approvePlan, decidePlan, whyDropped } from './decide-plan.ts';
import { act, group, type OperationContext, read } from './operation.ts';
import { page, pageById, paging } from './paging.ts';
import { patienceOf } from './reconcile-now.ts';
import { type Columns, table } from './show.ts';
import { formatList } from './text-table.ts';
import { count, flag, found, maybeInstant, maybeText, named, ofInstall, Plan, rowNumber, waiting } from './values.ts';

/** Removals that the brake holds, for an operator to decide about. */

const Item = named('PlanItem', {
  ...person,
  cause: z.string(),
  because: z.string().describe('The cause in words.'),
  outcome: maybeText,
  contractIds: z.array(z.string()),
  isStale: z.boolean().describe('Whether the evidence has changed since.'),
  current: z.object({ state: z.enum(membershipStates), wanted: z.boolean(), cause: maybeText }),
  staysBecause: maybeText.describe('Why they stay for now, if the evidence has changed.'),
  loses: z.string().describe('What they lose by the removal.'),
  keeps: count.describe('How many other projects they stay in.'),
});

const Other = z.object({
  ...person,
  state: z.enum(membershipStates),
  because: z.string(),
  removeAfter: maybeInstant,
  waitsFor: maybeText.describe('What must be read before the removal, and how long it waits for that.'),
});

const PlanInFull = Plan.extend({
  items: z.array(Item),
  others: z.array(Other).describe('Who else of the install is to be removed, 200 at most.'),
}).meta({ id: 'PlanInFull' });

export type PlanInFull = z.output<typeof PlanInFull>;
export type PlanItem = z.output<typeof Item>;

const Dropped = z.object({ ...person, reason: z.string().describe('Why they stay for now.') });

const columns: Columns<z.output<typeof Plan>> = [
  ['plan', ({ id }) => id, { to: ({ id }) => `/plans/${id}` }],
  ['install', ({ install }) => install],
  ['state', ({ state }) => state, { as: 'state' }],
  ['people', ({ size }) => size, { align: 'right' }],
  ['age', ({ createdAt }) => createdAt, { as: 'age' }],
  ['decided', ({ decidedAt }) => decidedAt, { as: 'age' }],
];

type Person = Pick<z.output<typeof Item>, keyof typeof person>;

const personColumns: Columns<Person> = [
  ...whoColumns,
  ['membership', ({ membershipId }) => membershipId, { align: 'right' }],
];

export const itemColumns: Columns<z.output<typeof Item>> = [
  ...personColumns,
  ['contracts', ({ contractIds }) => contractIds.join(', ')],
  ['because', ({ because }) => because],
  ['loses', ({ loses, keeps }) => (keeps === 0 ? loses : `${loses}; stays in ${sayCount(keeps, 'other project')}`)],
  ['decision', ({ isStale, outcome }) => (isStale ? 'stale' : (outcome ?? 'open'))],
];

const droppedColumns: Columns<z.output<typeof Dropped>> = [...personColumns, ['stays because', ({ reason }) => reason]];

const plan = rowNumber.describe('Its number in the list.');
const only = z
  .array(rowNumber)
  .min(1)
  .max(10_000)
  .optional()
  .describe('Only these memberships; the others stay in the plan.');

const decided = {
  plan: z.int(),
  install: z.string(),
  decided: count,
  stale: count.describe('How many stay, because the evidence about them has changed.'),
  open: count.describe('How many are still to be decided.'),
};

const mostOthers = 200;

async function listOthers(ctx: OperationContext, install: string, items: readonly { membershipId: number }[]) {
  const { kysely } = ctx.database;
  const own = new Set(items.map(({ membershipId }) => membershipId));
  const limit = mostOthers + own.size;
  const removing = await listMemberships(kysely, { install, state: 'removing', limit });
  const held = await listMemberships(kysely, { install, state: 'held', limit });
  const others = [...removing, ...held].filter(({ id }) => !own.has(id)).slice(0, mostOthers);
  const required = await loadRequired(ctx, others, (link) => scopeOfLink(ctx, link));
  return others.map(({ id: membershipId, cause, ...other }) => {
    const waits = required.get(membershipId);
    const because = cause === null ? 'no active contract' : describeCause(cause);
    return { ...other, membershipId, because, waitsFor: waits === undefined ? null : describeRequired(waits) };
  });
}

function lossIn({ adapters }: OperationContext, tool: string): string {
  const removal = adapters.get(tool)?.capabilities.removal;
  return removal?.effect === 'membership_only' ? `the project alone: ${removal.reason}` : 'access';
}

export const operations = group('plans', {
  list: read('GET /plans', 'List plans that wait for a decision, newest first', {
    in: z.strictObject({
      install: ofInstall,
      state: z.enum(planStates).default('open').describe('Only those in this state.'),
      all: flag('In every state.'),
      ...paging,
    }),
    out: page(Plan),
    run({ install, state, all, ...wish }, ctx) {
      const filter = { install, state: all ? undefined : state };
      return pageById('plans', wish, (before, limit) => pagePlans(ctx, { ...filter, before, limit }));
    },
    show: table(columns, 'No plans match. A plan appears when more people are due to leave than the limit allows.'),
  }),
  show: read('GET /plans/{plan}', 'Show who a plan would remove, and why', {
    asks: 'services',
    in: z.strictObject({ plan }),
    out: PlanInFull,
    async run({ plan: id }, ctx) {
      const plan = found('plan', id, await findPlan(ctx, id));
      const items = await listPlanItems(ctx, id);
      const { kysely } = ctx.database;
      const stays = await countStaying(kysely, [...new Set(items.map(({ trainerId }) => trainerId))]);
      return {
        ...plan,
        items: items.map((item) => ({
          ...item,
          because: describeCause(item.cause),
          staysBecause: item.isStale ? whyDropped(item.current) : null,
          loses: lossIn(ctx, item.tool),
          keeps: stays.get(item.trainerId) ?? 0,
        })),
        others: plan.state === 'open' ? await listOthers(ctx, plan.install, items) : [],
      };
    },
    show: (plan) =>
      `${formatList([plan], columns, '')}\n\n${formatList(plan.items, itemColumns, 'Nobody is in this plan.')}`,
  }),
  approve: act(
    'POST /plans/{plan}/approve',
    'Remove the people of a plan, unless the evidence about them has changed',
    {
      asks: 'tools',
      in: z.strictObject({
        plan,
        only,
        withoutReading: flag('Do not read the marketplace first, for when it cannot be reached.'),
        wait: waiting,
      }),
      out: z.object({
        ...decided,
        isRead: z.boolean().describe('Whether the marketplace was read first.'),
        dropped: z.array(Dropped).describe('Who stays for now.'),
        removed: count,
        failed: count,
        left: count.describe('How many are not removed yet. A running instance removes them.'),
      }),
      async run({ plan: id, only, withoutReading, wait }, ctx, call) {
        const approval = { only, isUnread: withoutReading, patience: patienceOf(call, wait) };
        return { plan: id, ...(await approvePlan(ctx, call.by, id, approval)) };
      },
      show: ({ decided, dropped, removed }) =>
        [
          `Approved ${sayCount(decided, 'removal')}.`,
          ...(dropped.length > 0 ? [formatList(dropped, droppedColumns, '')] : []),
          `Removed ${removed} of ${decided}.`,
        ].join('\n'),
      problems: ({ left }) =>
        left === 0 ? [] : [`${sayCount(left, 'removal')} not done yet: a running "gangway start" does the rest`],
      status: ({ left }) => (left === 0 ? 0 : 2),
    },
  ),
  reject: act('POST /plans/{plan}/reject', 'Keep the people of a plan until there is new evidence about them', {
    in: z.strictObject({ plan, only }),
    out: z.object(decided),
    run: async ({ plan: id, only }, ctx, { by }) => ({
      plan: id,
      ...(await decidePlan(ctx, by, 'reject', id, { only })),
    }),
    show: ({ decided, stale }) =>
      `Rejected ${sayCount(decided, 'removal')}: these people stay until there is new evidence.${
        stale === 0 ? '' : ` ${stale} had changed and stay too.`
      }`,
  }),
});
