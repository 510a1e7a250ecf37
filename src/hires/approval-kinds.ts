import type { ApprovalKind } from '../domain/approval.ts';
import { AppError } from '../domain/errors.ts';
import type { CallExtras } from '../marketplace/client.ts';
import { type Approval, contracts, milestones } from '../marketplace/contract/contracts.ts';
import { proposals } from '../marketplace/contract/hiring.ts';
import type { Account } from '../marketplace/source.ts';
import type { ApprovalKey, StoredApproval } from './hire-store.ts';

/** What the operator wants to be confirmed. */
export interface Wish extends ApprovalKey {
  /** Known beforehand, except for a hire. */
  contractId: string | null;
  /** Whether to hire a person who is marked as not a fit. */
  confirmNotFitOverride?: boolean;
  /** Whether to ask once more although the answer to an earlier request was lost. */
  again: boolean;
}

interface Asked {
  approval?: Approval | undefined;
}

/** What is seen at the marketplace. */
interface Seen {
  isDone: boolean;
  jobId?: string | null;
  contractId?: string | null;
}

interface Kind {
  /** Sends the request. If the answer has no approval, it is done. */
  ask(account: Account, wish: Wish, signal: AbortSignal, extras: Pick<CallExtras<Asked>, 'isAbout'>): Promise<Asked>;
  /** Whether it was done, by this request or another. */
  look(account: Account, key: Wish | StoredApproval, signal: AbortSignal): Promise<Seen>;
  /** The field of the approval with the subject. */
  idIn: 'proposalId' | 'milestoneId' | 'contractId';
  /** Whether the marketplace answers with the same approval while one is pending (spec: part A section 4.6). */
  isRepeatable?: boolean;
}

export const kinds: Readonly<Record<ApprovalKind, Kind>> = {
  proposal_hire: {
    ask: ({ call }, { subject: proposalId, confirmNotFitOverride }, signal, extras) =>
      call(proposals.hire, { proposalId, confirmNotFitOverride }, signal, extras),
    async look({ call, listWhole }, { subject: proposalId }, signal) {
      const { status, jobId } = (await call(proposals.get, { proposalId }, signal)).proposal;
      const all = await listWhole(contracts.list, { jobId }, signal);
      const contract = all.find((one) => one.proposalId === proposalId);
      return { isDone: contract !== undefined || status === 'ACCEPTED', jobId, contractId: contract?.id ?? null };
    },
    idIn: 'proposalId',
  },
  milestone_fund: {
    ask: ({ call }, { subject: milestoneId }, signal, extras) => call(milestones.fund, { milestoneId }, signal, extras),
    look: async (account, key, signal) => {
      const { status } = await findMilestone(account, key, signal);
      return { isDone: status === 'ACTIVE_FUNDED' || status === 'COMPLETED' };
    },
    idIn: 'milestoneId',
  },
  milestone_approve: {
    ask: ({ call }, { subject: milestoneId }, signal, extras) =>
      call(milestones.approve, { milestoneId }, signal, extras),
    look: async (account, key, signal) => ({
      isDone: (await findMilestone(account, key, signal)).status === 'COMPLETED',
    }),
    idIn: 'milestoneId',
  },
  contract_end: {
    ask: ({ call }, { subject: contractId }, signal, extras) => call(contracts.end, { contractId }, signal, extras),
    async look({ call }, { subject: contractId }, signal) {
      const { status, jobId = null } = (await call(contracts.get, { contractId }, signal)).contract;
      return { isDone: status === 'ended', jobId };
    },
    idIn: 'contractId',
    isRepeatable: true,
  },
};

async function findMilestone({ call }: Account, { contractId, subject }: Wish | StoredApproval, signal: AbortSignal) {
  const { contract } = await call(contracts.get, { contractId: contractId ?? '' }, signal);
  const milestone = contract.milestones?.find(({ id }) => id === subject);
  if (milestone !== undefined) return milestone;
  throw new AppError('not_found', `Contract ${contractId} has no milestone ${subject}`);
}
