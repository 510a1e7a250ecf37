import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { accountOf } from '../hires/account.ts';
import { contracts } from '../marketplace/contract/contracts.ts';
import { askedAnswer, asking, askPerson, ofContract } from './approvals.ts';
import { act, group, type OperationContext, read } from './operation.ts';
import { type Columns, table } from './show.ts';
import { maybeText, named, text, theInstall } from './values.ts';

/** The milestones of contracts of your own accounts, by which they are funded and paid. */

const Milestone = named('Milestone', {
  id: z.string(),
  name: maybeText,
  status: maybeText,
  amountUsd: z.number().nullable(),
  volume: z.number().nullable(),
  pendingApproval: z.boolean().describe('Whether work was submitted that waits to be approved.'),
});

export type Milestone = z.output<typeof Milestone>;

export const milestoneColumns: Columns<Milestone> = [
  ['milestone', ({ name, id }) => name ?? id],
  ['id', ({ id }) => id, { isBeneath: true }],
  ['status', ({ status }) => status?.toLowerCase(), { as: 'state' }],
  ['US$', ({ amountUsd }) => amountUsd, { align: 'right' }],
  ['volume', ({ volume }) => volume, { align: 'right' }],
  ['submitted', ({ pendingApproval }) => (pendingApproval ? 'yes' : '')],
];

type Found = z.output<typeof contracts.createMilestone.out>['milestone'];

function toMilestone({ id, name, status, amountUsd, volume, pendingApproval = false }: Found): Milestone {
  return { id, name: name ?? null, status: status ?? null, amountUsd, volume, pendingApproval };
}

async function listMilestones(ctx: OperationContext, install: string, contractId: string, signal: AbortSignal) {
  const { contract } = await accountOf(ctx, install).call(contracts.get, { contractId }, signal);
  return (contract.milestones ?? []).map(toMilestone);
}

const pay = (verb: 'fund' | 'approve', summary: string) =>
  act(`POST /installs/{install}/contracts/{contract}/milestones/{milestone}/${verb}`, summary, {
    ...askedAnswer,
    in: z.strictObject({
      install: theInstall,
      contract: ofContract,
      milestone: text.describe('The id of the milestone.'),
      ...asking,
    }),
    run: ({ contract: contractId, milestone: subject, wait, ...input }, ctx, call) =>
      askPerson(ctx, call, { ...input, kind: `milestone_${verb}`, subject, contractId }, wait),
  });

export const operations = group('milestones', {
  list: read('GET /installs/{install}/contracts/{contract}/milestones', 'List the milestones of a contract', {
    asks: 'marketplace',
    in: z.strictObject({ install: theInstall, contract: ofContract }),
    out: z.object({ items: z.array(Milestone) }),
    run: async ({ install, contract }, ctx, { signal }) => ({
      items: await listMilestones(ctx, install, contract, signal),
    }),
    show: table(milestoneColumns, 'The contract has no milestone yet.'),
  }),
  create: act(
    'POST /installs/{install}/contracts/{contract}/milestones',
    'Create a milestone, unless the contract has one of that name',
    {
      asks: 'marketplace',
      in: z.strictObject({
        install: theInstall,
        contract: ofContract,
        name: text.describe('Its name. A name is used once for each contract.'),
        amount: z.number().positive().optional().describe('In US dollars.'),
        volume: z.number().positive().optional().describe('Hours or labels, as the contract is paid.'),
      }),
      out: Milestone,
      async run({ install, contract: contractId, name, amount: amountUsd, volume }, ctx, { by, signal }) {
        // A lost answer may have made it.
        const known = (await listMilestones(ctx, install, contractId, signal)).find((one) => one.name === name);
        const isSame = [undefined, known?.amountUsd].includes(amountUsd) && [undefined, known?.volume].includes(volume);
        if (known !== undefined && isSame) return known;
        if (known !== undefined) throw new AppError('conflict', `The contract has a milestone ${name} of another size`);
        await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'milestones create', `${install}/${contractId}`));
        const { call } = accountOf(ctx, install);
        const made = await call(contracts.createMilestone, { contractId, name, amountUsd, volume }, signal);
        return toMilestone(made.milestone);
      },
      show: ({ id, name, status }) => `Milestone ${id} (${name}): ${status?.toLowerCase().replace('_', ' ') ?? '?'}`,
    },
  ),
  fund: pay('fund', 'Request the funding of a milestone, which a person confirms at the marketplace'),
  approve: pay('approve', 'Request the payment of a milestone, which a person confirms at the marketplace'),
});
