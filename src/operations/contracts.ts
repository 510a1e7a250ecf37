import { z } from 'zod';
import type { Storage } from '../context.ts';
import { budgetStates } from '../domain/budget.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { contractStatuses, shownStatusOf } from '../domain/evidence-status.ts';
import {
  type ContractPosition,
  type FundedContract,
  listParticipants,
  pageContracts,
  pageSize,
} from '../evidence/contract-store.ts';
import { suspectsAmong } from '../reconcile/runs/suspect-store.ts';
import { pageBy } from './cursor.ts';
import { decideContract } from './decide-contract.ts';
import { act, group, read } from './operation.ts';
import { type Columns, contractPath, sayPercent, table } from './show.ts';
import { contractKey, maybeInstant, maybeText, ofInstall, oneContract, page, paging, text } from './values.ts';

/** What is known of the contracts, and an operator's decision about one. */

const Contract = z
  .object({
    ...contractKey,
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

export const contractColumns: Columns<ListedContract> = [
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

const named = { in: z.strictObject(oneContract), out: z.object(contractKey) };

const mostNamed = 3;

function sayTrainers(trainers: ListedContract['trainers']): string {
  const named = trainers.slice(0, mostNamed).map(({ trainerId, displayName }) => displayName ?? trainerId);
  const more = trainers.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

export type ListedContract = z.output<typeof Contract>;

const Filter = z.strictObject({
  q: text.optional().describe('Part of a title, or a whole id.'),
  contract: text.optional().describe('Only those with this id.'),
  install: ofInstall,
  status: z.enum(contractStatuses).optional().describe('Only those with this status.'),
  budget: z.enum(budgetStates).optional().describe('Only those whose budget is in this state.'),
  suspects: z
    .boolean()
    .optional()
    .describe('Only those that the marketplace no longer lists, although nothing says they ended.'),
});

export const operations = group('contracts', {
  list: read('GET /contracts', 'List contracts, those with the least of their budget left first', {
    in: Filter.extend(paging),
    out: page(Contract),
    run({ limit: most, cursor, ...filter }, ctx) {
      const key = { remainingFraction: z.number().nullable(), ...contractKey };
      return pageBy('contracts', key, { limit: most, cursor }, (after, limit) =>
        listContracts(ctx, { ...filter, after, limit }),
      );
    },
    show: table(
      contractColumns,
      'No contracts match. One appears when the marketplace names it in a delivery or a reading.',
    ),
  }),
  end: act('POST /contracts/{contract}/end', 'Treat a contract as ended, for when the marketplace cannot be reached', {
    ...named,
    run: ({ contract, install }, ctx, { by }) => decideContract(ctx, by, 'end', contract, install),
    show: ({ contractId }) => `The contract ${contractId} is treated as ended.`,
  }),
  reopen: act('POST /contracts/{contract}/reopen', 'Treat a contract as active although its end was delivered', {
    ...named,
    run: ({ contract, install }, ctx, { by }) => decideContract(ctx, by, 'reopen', contract, install),
    show: ({ install, contractId }) =>
      `The contract ${contractId} is treated as active. A running "gangway start" reads ${install} now.`,
  }),
});

/** Those with the least of their budget left come first. @param after the last contract of the page before */
export async function listContracts(
  ctx: Storage,
  filter: z.output<typeof Filter> & { after?: ContractPosition | undefined; limit: number },
) {
  const { q: search, contract: contractId, install, status, budget, suspects = false, after, limit } = filter;
  const wanted = { install, search, contractId, budget, mayBe: status, isUnlisted: suspects };
  const isAskedFor = (one: ReturnType<typeof toListed>) =>
    (status === undefined || one.status === status) && (!suspects || one.suspectSince !== null);
  const listed: ReturnType<typeof toListed>[] = [];
  // The status follows from the registers and is stored in no column.
  for (let rows = await pageContracts(ctx, wanted, after); ; rows = await pageContracts(ctx, wanted, rows.at(-1))) {
    const since = new Map((await suspectsAmong(ctx, rows)).map((one) => [keyOf(one), one.since]));
    const found = rows.map((row) => toListed(row, since.get(keyOf(row)) ?? null));
    listed.push(...found.filter(isAskedFor));
    if (rows.length < pageSize || listed.length >= limit) break;
  }
  const shown = listed.slice(0, limit);
  const trainers = Map.groupBy(await listParticipants(ctx, shown), keyOf);
  return shown.map((one) => ({ ...one, trainers: trainers.get(keyOf(one)) ?? [] }));
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}

function toListed(row: FundedContract, suspectSince: string | null) {
  const status = shownStatusOf(row);
  const heard = [row.startedEventAt, row.endedEventAt, row.activeReadAt, row.endedReadAt];
  return {
    ...row,
    status,
    suspectSince,
    heardAt: heard.reduce((a, b) => ((b ?? '') > (a ?? '') ? b : a), null),
    // What the marketplace lists as ended stays so.
    canReopen: row.endedReadAt === null && (status === 'ended' || status === 'disputed'),
  };
}
