import { z } from 'zod';
import { nameEach } from '../memberships/membership-list-store.ts';
import { decideHeld, decideLate, listLate, listLowerings, takeBackDecision } from '../usage/due/decide-held.ts';
import { describeHeld } from '../usage/due/explain-day.ts';
import { listHeld } from '../usage/due/held-store.ts';
import { refreshAllDue } from '../usage/due/refresh-due.ts';
import { trainerColumns } from './access.ts';
import { act, read } from './operation.ts';
import { type Columns, fieldColumns } from './show.ts';
import { formatList } from './text-table.ts';
import { Counts, changeColumns, countColumns, HeldWork, trainerDay } from './usage-values.ts';
import { instant, text } from './values.ts';

/** Work that is not reported before an operator decides, and the decisions. */

const LateDay = z
  .object({ ...trainerDay, id: z.string(), from: Counts, to: Counts })
  .meta({ id: 'LateDay', description: 'A day that changed after its last report.' });

const Lowering = z
  .object({
    ...trainerDay,
    state: z.enum(['held', 'reported']),
    since: instant,
    from: Counts,
    to: Counts.nullable(),
  })
  .meta({ id: 'Lowering' });

const HeldList = z.object({
  decided: z.boolean(),
  held: z.array(HeldWork),
  late: z.array(LateDay),
  lowerings: z.array(Lowering),
});

export type HeldList = z.output<typeof HeldList>;

type Changed = Pick<z.output<typeof Lowering>, keyof typeof trainerDay | 'from' | 'to'>;

const heldColumns: Columns<HeldWork> = [
  ...fieldColumns('id', 'source'),
  ['worked on', ({ workedOn }) => Object.values(workedOn).at(-1)],
  ...trainerColumns,
  ['day', ({ day }) => day],
  ...countColumns<HeldWork>(({ counts }, name) => counts[name]),
  ['reason', ({ reason }) => describeHeld[reason]],
  ['contracts', ({ contracts }) => contracts.map(({ contractId }) => contractId).join(' ')],
];

const decidedColumns: Columns<HeldWork> = [
  ...heldColumns,
  ['decision', ({ state }) => state],
  ['at', ({ since }) => since],
];

const changedColumns: Columns<Changed> = [
  ['install', ({ install }) => install],
  ['contract', ({ contractId }) => contractId],
  ...trainerColumns,
  ['day', ({ day }) => day],
  ...changeColumns<Changed>(
    ({ from }) => from,
    ({ to }) => to,
  ),
];

const lateColumns: Columns<z.output<typeof LateDay>> = [['id', ({ id }) => id], ...changedColumns];

const loweringColumns: Columns<z.output<typeof Lowering>> = [
  ...changedColumns,
  ['', ({ state }) => (state === 'held' ? 'waits for you' : 'reported')],
  ['since', ({ since }) => since],
];

export const held = read('GET /usage/held', 'List work that is not reported, late changes, and days that are lowered', {
  asks: 'services',
  in: z.strictObject({
    decided: z.boolean().default(false).describe('List what operators discarded and assigned instead.'),
  }),
  out: HeldList,
  async run({ decided }, ctx, { signal }) {
    await refreshAllDue(ctx, signal);
    if (decided) {
      const work = [...(await listHeld(ctx, { state: 'discarded' })), ...(await listHeld(ctx, { state: 'assigned' }))];
      return { decided, held: await nameEach(ctx, work), late: [], lowerings: [] };
    }
    const installs = [...ctx.installs.keys()];
    return {
      decided,
      held: await nameEach(ctx, await listHeld(ctx, { state: 'held' })),
      late: await nameEach(ctx, await listLate(ctx, installs)),
      lowerings: await nameEach(ctx, await listLowerings(ctx, installs)),
    };
  },
  show({ decided, held: work, late, lowerings }) {
    const list = decided
      ? formatList(work, decidedColumns, 'No work was discarded or assigned.')
      : formatList(work, heldColumns, 'No work is held.');
    const lateList = `Days that changed after their last report:\n${formatList(late, lateColumns, '')}`;
    const lowered = `Days with less than was reported:\n${formatList(lowerings, loweringColumns, '')}`;
    const advice = 'To report what waits: "gangway usage report --accept-lowered", for all or with --contract <id>.';
    return [
      list,
      ...(late.length === 0 ? [] : [lateList]),
      ...(lowerings.length === 0 ? [] : [lowered]),
      ...(lowerings.some(({ state }) => state === 'held') ? [advice] : []),
    ].join('\n\n');
  },
});

const work = z
  .string()
  .regex(/^[0-9a-f]{12}$/, 'must be the id of held work')
  .describe('Its id in the list of held work.');

const lateDay = z
  .string()
  .regex(/^gw-[0-9a-f]{32}$/, 'must be the id of a late day, which begins with gw-')
  .describe('Its id in the list, which begins with gw-.');

const Decided = z.object({ id: z.string() });

async function idAfter<Id>(id: Id, done: Promise<unknown>): Promise<{ id: Id }> {
  await done;
  return { id };
}

export const assign = act('POST /usage/held/{work}/assign', 'Report held work for a contract', {
  asks: 'services',
  args: ['work', 'contract'],
  in: z.strictObject({ work, contract: text.describe('The contract that it is of.') }),
  out: Decided.extend({ contractId: z.string() }),
  run: async ({ work: id, contract: contractId }, ctx, { by }) => ({
    ...(await idAfter(id, decideHeld(ctx, by, id, contractId))),
    contractId,
  }),
  show: ({ id, contractId }) => `${id} is assigned to ${contractId}. The next report sends it.`,
});

const ofHeld = { asks: 'services', in: z.strictObject({ work }), out: Decided } as const;

export const discard = act('POST /usage/held/{work}/discard', 'Never report held work', {
  ...ofHeld,
  run: ({ work: id }, ctx, { by }) => idAfter(id, decideHeld(ctx, by, id, null)),
  show: ({ id }) => `${id} is discarded and never reported. "gangway usage take-back ${id}" undoes that.`,
});

export const takeBack = act('POST /usage/held/{work}/take-back', 'Take a decision about held work back', {
  ...ofHeld,
  run: ({ work: id }, ctx, { by }) => idAfter(id, takeBackDecision(ctx, by, id)),
  show: ({ id }) => `The decision about ${id} is taken back.`,
});

const ofLateDay = { asks: 'services', in: z.strictObject({ day: lateDay }), out: Decided } as const;

export const send = act('POST /usage/late/{day}/send', 'Send a late day once more with the next report', {
  ...ofLateDay,
  run: ({ day: id }, ctx, { by }) => idAfter(id, decideLate(ctx, by, id, true)),
  show: ({ id }) => `The next report sends ${id} once more.`,
});

export const dismiss = act('POST /usage/late/{day}/dismiss', 'Leave a late day as it was reported', {
  ...ofLateDay,
  run: ({ day: id }, ctx, { by }) => idAfter(id, decideLate(ctx, by, id, false)),
  show: ({ id }) => `${id} is dismissed. What was reported stays.`,
});
