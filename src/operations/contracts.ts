import { z } from 'zod';
import { budgetStates } from '../domain/budget.ts';
import { contractStatuses } from '../domain/evidence-status.ts';
import { decideContract } from '../operator/decide-contract.ts';
import { listContracts } from '../operator/list-contracts.ts';
import { pageByKey } from './cursor.ts';
import { act, group, read } from './operation.ts';
import { contractPath } from './paths.ts';
import { type Columns, sayPercent, table } from './show.ts';
import { maybeInstant, maybeText, ofInstall, page, paging, refuseUnknown, text } from './values.ts';

/** What is known of the contracts, and an operator's decision about one. */

const Contract = z
  .object({
    install: z.string(),
    contractId: z.string(),
    status: z.enum(contractStatuses),
    title: maybeText,
    startDate: maybeText,
    endDate: maybeText,
    canReopen: z.boolean().describe('Whether an operator can treat it as active again.'),
    heardAt: maybeText.describe('The latest instant that any source said something about it.'),
    trainers: z.array(z.object({ trainerId: z.string(), displayName: maybeText })),
    budgetState: z.enum(budgetStates).nullable(),
    consumedFraction: z.number().nullable(),
    remainingFraction: z.number().nullable().describe('What is left of the budget; null if it was never read.'),
    suspectSince: maybeInstant.describe('Since when no list has it; null if the last reading found it.'),
  })
  .meta({ id: 'Contract' });

export const contractColumns: Columns<z.output<typeof Contract>> = [
  ['title', ({ title }) => title, { to: ({ contractId }) => contractPath(contractId) }],
  ['contract', ({ contractId }) => contractId, { isBeneath: true }],
  ['trainers', ({ trainers }) => sayTrainers(trainers)],
  ['install', ({ install }) => install],
  ['status', ({ status }) => status, { as: 'state' }],
  ['begins', ({ startDate }) => startDate, { as: 'age' }],
  ['ends', ({ endDate }) => endDate, { as: 'age' }],
  ['budget', ({ budgetState }) => budgetState, { as: 'state' }],
  ['used', ({ consumedFraction }) => sayPercent(consumedFraction), { align: 'right' }],
  ['last heard', ({ heardAt }) => heardAt, { as: 'age' }],
  ['unlisted since', ({ suspectSince }) => suspectSince, { as: 'age' }],
];

const named = {
  in: z.strictObject({
    contract: text.describe('Its id.'),
    install: text.optional().describe('Its install, if several have a contract with this id.'),
  }),
  out: z.object({ install: z.string(), contractId: z.string() }),
};

const mostNamed = 3;

function sayTrainers(trainers: readonly { trainerId: string; displayName: string | null }[]): string {
  const named = trainers.slice(0, mostNamed).map(({ trainerId, displayName }) => displayName ?? trainerId);
  const more = trainers.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

export type ListedContract = z.output<typeof Contract>;

export const contracts = group('contracts', {
  list: read('GET /contracts', 'List contracts, those with the least of their budget left first', {
    in: z.strictObject({
      q: text.optional().describe('Part of a title, or a whole id.'),
      contract: text.optional().describe('Only those with this id.'),
      install: ofInstall,
      status: z.enum(contractStatuses).optional().describe('Only those with this status.'),
      budget: z.enum(budgetStates).optional().describe('Only those whose budget is in this state.'),
      suspects: z
        .boolean()
        .optional()
        .describe('Only those that the marketplace no longer lists, although nothing says they ended.'),
      ...paging,
    }),
    out: page(Contract),
    async run({ q: search, contract: contractId, limit: most, cursor, ...filter }, ctx) {
      const found = await pageByKey(
        'contracts',
        { limit: most, cursor, parts: 3 },
        async (key, limit) => {
          const [left = '', of = '', id = ''] = key ?? [];
          const after = key && { install: of, contractId: id, remainingFraction: left === '' ? null : Number(left) };
          return await listContracts(ctx, { ...filter, search, contractId, after, limit });
        },
        ({ install, contractId, remainingFraction }) => [String(remainingFraction ?? ''), install, contractId],
      );
      refuseUnknown(ctx, filter.install, found.items);
      return found;
    },
    show: table(
      contractColumns,
      'No contracts match. One appears when the marketplace names it in a delivery or a reading.',
    ),
  }),
  end: act('POST /contracts/{contract}/end', 'Treat a contract as ended, for when the marketplace cannot be reached', {
    ...named,
    async run({ contract: contractId, install: of }, ctx, { by }) {
      const { install } = await decideContract(ctx, by, 'end', contractId, of);
      return { install, contractId };
    },
    show: ({ contractId }) => `The contract ${contractId} is treated as ended.`,
  }),
  reopen: act('POST /contracts/{contract}/reopen', 'Treat a contract as active although its end was delivered', {
    ...named,
    async run({ contract: contractId, install: of }, ctx, { by }) {
      const { install } = await decideContract(ctx, by, 'reopen', contractId, of);
      return { install, contractId };
    },
    show: ({ install, contractId }) =>
      `The contract ${contractId} is treated as active. A running "gangway start" reads ${install} now.`,
  }),
});
