import { freelancers, proposals } from '../../marketplace/contract/hiring.ts';
import { type AccountCall, type CallOf, forAccount, type Route } from '../api-router.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Proposal, SandboxState, Trainer } from '../sandbox-state.ts';
import { askApproval, requireMoney } from './approvals.ts';
import { addConversation } from './conversation.ts';
import { refuse, requireProposal } from './employer-route.ts';

/** Proposals and freelancers (spec: part A section 4.5). */
export const hiringRoutes: readonly Route[] = [
  forAccount(proposals.get, (call) => ({ proposal: toRecord(requireProposal(call, call.input.proposalId)) })),
  forAccount(proposals.interview, (call) => {
    const { id: proposalId, interview } = requireProposal(call, call.input.proposalId);
    if (interview !== null) return { interview };
    throw new Refusal('not_found', 'There was no AI interview', { proposalId });
  }),
  forAccount(proposals.conversation, (call) => startConversation(call, requireProposal(call, call.input.proposalId))),
  forAccount(proposals.hire, hire),
  forAccount(freelancers.get, ({ marketplace: { state }, input: { idOrSlug } }) => {
    const isWanted = (one: Trainer) => [one.opentrainUserId, slugOf(one)].includes(idOrSlug);
    const trainer = [...state.trainers.values()].find(isWanted) ?? refuse('freelancers', { idOrSlug });
    const { opentrainUserId: userId, displayName, country } = trainer;
    const profile = { headline: 'AI trainer', skills: ['Bounding boxes'], languages: ['English'] };
    return { freelancer: { userId, slug: slugOf(trainer), displayName, country, ...profile } };
  }),
];

export function toRecord({ job: _, trainer: __, interview: ___, ...record }: Proposal) {
  return record;
}

/** Two people may have the same name. */
function slugOf({ displayName, opentrainUserId }: Trainer): string {
  return `${displayName} ${opentrainUserId}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

/** Assumed: an employer cannot write while the AI interview is going on. */
function startConversation({ account }: AccountCall, { id: proposalId, jobId, trainer, interview }: Proposal) {
  const id = `dm_${proposalId}`;
  if (account.conversations.has(id)) return { conversationId: id, created: false };
  if (interview !== null && interview.score === null) throw refusalOf('proposal_not_ready_for_messaging');
  addConversation(account, id, jobId, 'proposal_dm', [trainer.opentrainUserId]);
  return { conversationId: id, created: true };
}

function hire(call: CallOf<typeof proposals.hire>) {
  const { proposalId, confirmNotFitOverride } = call.input;
  const { status, job, trainer, rateUsd } = requireProposal(call, proposalId);
  if (status === 'ACCEPTED') throw refusalOf('already_accepted');
  if (job.status !== 'OPEN') throw refusalOf('job_not_published');
  requireHireable(call.marketplace.state, trainer.opentrainUserId);
  if (status === 'NOT_FIT' && confirmNotFitOverride !== true) throw refusalOf('not_fit_confirmation_required');
  requireMoney(call.account, rateUsd);
  return askApproval(call, { type: 'proposal_hire', proposalId, jobId: job.id });
}

/** @throws Refusal */
export function requireHireable({ unhireable }: SandboxState, userId: string): void {
  const reason = unhireable.get(userId);
  if (reason !== undefined) throw refusalOf(reason);
}
