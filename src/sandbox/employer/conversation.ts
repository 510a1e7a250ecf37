import { isGranted } from '../../marketplace/contract/account.ts';
import type { AccountCall } from '../api-router.ts';
import type { Marketplace } from '../marketplace.ts';
import { accountOf, type SandboxContract, type SandboxState } from '../sandbox-state.ts';
import type { Conversation, Message, SandboxAccount } from './account.ts';
import { refuse } from './employer-route.ts';

/** Conversations and their members. Those of contracts begin with the hire. */

/** The conversation of a contract, with its present trainers. */
export function openDm(account: SandboxAccount, { id: contractId, job, participants }: SandboxContract): Conversation {
  const id = `dm_${contractId}`;
  const conversation = account.conversations.get(id) ?? addConversation(account, id, job.id, 'job_dm', []);
  conversation.participants = [account.ownerUserId, ...participants.map(({ opentrainUserId }) => opentrainUserId)];
  return conversation;
}

/** @param others the participants beside the employer */
export function addConversation(
  { ownerUserId, conversations }: SandboxAccount,
  id: string,
  jobId: string,
  contextType: Conversation['contextType'],
  others: readonly string[],
): Conversation {
  const conversation = { id, jobId, contextType, participants: [ownerUserId, ...others], messages: [] };
  conversations.set(id, conversation);
  return conversation;
}

export function conversationsOf({ state }: Marketplace, account: SandboxAccount): Conversation[] {
  for (const contract of state.contracts.values()) {
    if (accountOf(state, contract) === account) openDm(account, contract);
  }
  return [...account.conversations.values()];
}

export function findConversation(
  { marketplace: { state }, account }: AccountCall,
  conversationId: string,
): Conversation {
  const contract = state.contracts.get(conversationId.replace('dm_', ''));
  if (contract !== undefined && accountOf(state, contract) === account) return openDm(account, contract);
  return account.conversations.get(conversationId) ?? refuse('conversations', { conversationId });
}

export function addMessage(
  { ids, now }: Marketplace,
  { messages }: Conversation,
  written: Pick<Message, 'senderUserId' | 'body' | 'attachments'>,
): Message {
  const message: Message = { id: ids.next('msg'), state: 'SENT', sentAt: now(), ...written };
  messages.push(message);
  return message;
}

/** Without those of hidden senders. */
export function visibleIn({ messages: all }: Conversation): Message[] {
  return all.filter(({ state }) => state !== 'SENDER_HIDDEN');
}

/** The contract of a trainer that a conversation is about. */
export function contractIn({ contracts }: SandboxState, { id, jobId, contextType }: Conversation, userId: string) {
  if (contextType === 'job_dm') return contracts.get(id.replace('dm_', ''));
  return [...contracts.values()].find(
    ({ job, status, participants }) =>
      job.id === jobId && status === 'active' && participants.some((one) => one.opentrainUserId === userId),
  );
}

interface WantedMembers {
  includeWorkEmail?: boolean | undefined;
  includeRemoved?: boolean | undefined;
}

/** With the managed addresses that the trainers share, if they are asked for and the token may see them. */
export function membersOf(call: AccountCall, conversation: Conversation, wanted: WantedMembers = {}) {
  const { state } = call.marketplace;
  const mayShow = wanted.includeWorkEmail === true && isGranted(call.scopes, 'participant_work_email:read');
  const former = wanted.includeRemoved === true ? contractIn(state, conversation, '')?.formerParticipants : [];
  const current = conversation.participants.map((userId) => ({ userId, removedAt: null }));
  return [...current, ...(former ?? [])].map(({ userId, removedAt }) => {
    const trainer = state.trainers.get(userId);
    const contractId = trainer && contractIn(state, conversation, userId)?.id;
    return {
      userId,
      contractId: contractId ?? null,
      displayName: trainer?.displayName ?? 'Erin Employer',
      role: trainer === undefined ? 'EMPLOYER' : 'FREELANCER',
      source: conversation.contextType,
      removedAt,
      // Assumed: null means that the address is shared but does not exist yet.
      ...(mayShow && trainer && !state.unsharedWorkEmails.has(userId) && { workEmail: trainer.workEmail }),
    };
  });
}
