import { z } from 'zod';
import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { budgetStates } from '../domain/budget.ts';
import { AppError } from '../domain/errors.ts';
import { type ContractEvidence, type ContractKey, emptyContract, emptyEvidence } from '../domain/evidence.ts';
import { contractStatuses, shownStatusOf, statusOfContract } from '../domain/evidence-status.ts';
import {
  type ContractPosition,
  type FundedContract,
  findContracts,
  listParticipants,
  pageContracts,
  pageSize,
} from '../evidence/contract-store.ts';
import { mergeEvidence } from '../evidence/evidence-store.ts';
import { toInstant } from '../lib/clock.ts';
import { lockEvidence, postponeTouchedTrainers } from '../memberships/derivation-store.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { suspectsAmong } from '../reconcile/runs/suspect-store.ts';
import { act, group, read } from './operation.ts';
import { page, pageBy, paging } from './paging.ts';
import { type Columns, contractPath, sayPercent, table } from './show.ts';
import { contractKey, maybeInstant, maybeText, named, ofInstall, oneContract, text } from './values.ts';

/** Contracts, and an operator's decision about one. */

const Contract = named('Contract', {
  ...contractKey,
  status: z.enum(contractStatuses),
  title: maybeText,
  startDate: maybeText,
  endDate: maybeText,
  canReopen: z.boolean().describe('Whether an operator can treat it as active again.'),
  heardAt: maybeText.describe('When any source last said something about it.'),
  trainers: z.array(z.object({ trainerId: z.string(), displayName: maybeText })),
  budgetState: z.enum(budgetStates).nullable(),
  consumedFraction: z.number().nullable(),
  remainingFraction: z.number().nullable().describe('What is left of the budget; null if it was never read.'),
  suspectSince: maybeInstant.describe('Since when it is in no list; null if the last reading found it.'),
});

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

const decision = { in: z.strictObject(oneContract), out: z.object(contractKey) };

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
    .describe('Only those that the marketplace no longer lists, but has not reported as ended.'),
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
    ...decision,
    run: ({ contract, install }, ctx, { by }) => decideContract(ctx, by, 'end', contract, install),
    show: ({ contractId }) => `The contract ${contractId} is treated as ended.`,
  }),
  reopen: act('POST /contracts/{contract}/reopen', 'Treat a contract as active although its end was delivered', {
    ...decision,
    run: ({ contract, install }, ctx, { by }) => decideContract(ctx, by, 'reopen', contract, install),
    show: ({ install, contractId }) =>
      `The contract ${contractId} is treated as active. A running "gangway start" reads ${install} now.`,
  }),
});

/** Those with the least of their budget left come first. @param after the last contract of the previous page */
export async function listContracts(
  ctx: Storage,
  filter: z.output<typeof Filter> & { after?: ContractPosition | undefined; limit: number },
) {
  const { q: search, contract: contractId, install, status, budget, suspects = false, after, limit } = filter;
  const wanted = { install, search, contractId, budget, mayBe: status, isUnlisted: suspects };
  const listed: ReturnType<typeof toListed>[] = [];
  // The status is derived from the registers, so the query can only narrow the rows down.
  for (let rows = await pageContracts(ctx, wanted, after); ; rows = await pageContracts(ctx, wanted, rows.at(-1))) {
    const since = new Map((await suspectsAmong(ctx, rows)).map((one) => [keyOf(one), one.since]));
    const found = rows.map((row) => toListed(row, since.get(keyOf(row)) ?? null));
    const ofStatus = found.filter((one) => status === undefined || one.status === status);
    listed.push(...ofStatus.filter(({ suspectSince }) => !suspects || suspectSince !== null));
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
    // An end that the marketplace has listed is final.
    canReopen: row.endedReadAt === null && (status === 'ended' || status === 'disputed'),
  };
}

/**
 * Adds the decision of an operator about a contract as evidence, on which the running workers act. Reopening has the
 * marketplace read at once, because addresses of ended contracts may have been deleted.
 *
 * @returns the contract as it was before
 * @throws AppError `not_found`, or `conflict` if the decision would change nothing
 */
export async function decideContract(
  ctx: Storage,
  by: By,
  decision: 'end' | 'reopen',
  contractId: string,
  install: string | undefined,
): Promise<ContractEvidence> {
  return await inTransaction(ctx.database, async (tx) => {
    await lockEvidence(ctx, tx);
    const contract = await findOneContract(tx, contractId, install);
    refuseIdle(contract, decision);
    const changed = await mergeEvidence(ctx, tx, {
      ...emptyEvidence(),
      contracts: [toEvidence(contract, decision, by.at)],
    });
    await postponeTouchedTrainers(tx, changed, '');
    if (decision === 'reopen') await wantRead(tx, [contract.install], by.at, 'operator');
    await writeAudit(tx, by, `contracts ${decision}`, `${contract.install}/${contractId}`);
    return contract;
  });
}

/** @throws AppError `not_found`, or `conflict` if several installs have a contract with this id */
export async function findOneContract(
  tx: Transaction,
  contractId: string,
  install: string | undefined,
): Promise<ContractEvidence> {
  const [contract, ...others] = await findContracts(tx, contractId, install);
  if (contract === undefined) {
    const of = install === undefined ? '' : ` of ${install}`;
    throw new AppError('not_found', `There is no contract ${contractId}${of}`);
  }
  if (others.length === 0) return contract;
  const installs = [contract, ...others].map((one) => one.install).join(', ');
  const why = `Several installs have a contract ${contractId} (${installs})`;
  throw new AppError('conflict', `${why}: name one with --install`);
}

function refuseIdle(contract: ContractEvidence, decision: 'end' | 'reopen'): void {
  const status = statusOfContract(contract);
  const { contractId } = contract;
  if (decision === 'end') {
    if (status === 'ended') throw new AppError('conflict', `Contract ${contractId} has already ended`);
    return;
  }
  if (contract.endedReadAt !== null) {
    const why = `The marketplace lists contract ${contractId} as ended`;
    throw new AppError('conflict', `${why}, so only a new contract gives access again`);
  }
  if (status === 'active' || status === 'unknown') {
    throw new AppError('conflict', `Contract ${contractId} has not ended`);
  }
}

/** The later decision wins, even if the clock of the earlier one was ahead of this clock. */
function toEvidence(contract: ContractEvidence, decision: 'end' | 'reopen', now: string) {
  const { install, contractId, endedEventAt, endedByOperatorAt, reopenedAt } = contract;
  const contrary = decision === 'end' ? [reopenedAt] : [endedEventAt, endedByOperatorAt];
  const justAfter = contrary.map((at) => (at === null ? '' : toInstant(new Date(Date.parse(at) + 1))));
  const at = [now, ...justAfter].sort().at(-1) ?? now;
  const decided = decision === 'end' ? { endedByOperatorAt: at } : { reopenedAt: at };
  return { ...emptyContract(install, contractId), ...decided };
}
