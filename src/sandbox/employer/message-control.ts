import { AppError } from '../../domain/errors.ts';
import * as wants from '../control-request-schema.ts';
import { refusalOf } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import { parseControl, type Wanted } from '../parse-request.ts';
import { raiseFeed } from '../raise-events.ts';
import { findIn } from '../sandbox-state.ts';
import { addConversation, addMessage, conversationsOf } from './conversation.ts';

/** Trainers write, and the marketplace restricts conversations, hides messages and observes mail. */

/** A conversation of a job with any of its trainers. */
export function openChannel({ state, ids }: Marketplace, jobId: string, { participants }: Wanted<'NewChannel'>) {
  const { organizationId } = findIn(state.jobs, 'job', jobId);
  const account = findIn(state.accounts, 'account', organizationId);
  const id = ids.next('chn');
  addConversation(account, id, jobId, 'channel', participants);
  return { conversationId: id };
}

const maxAttachmentBytes = 20 * 1024 * 1024;

/** A trainer writes only after the employer in the conversation about a proposal. */
export function writeMessage(marketplace: Marketplace, conversationId: string, wanted: Wanted<'NewMessage'> = {}) {
  const { senderUserId, body, attachments } = parseControl(wants.NewMessage, wanted);
  const { account, conversation } = findConversation(marketplace, conversationId);
  const { jobId, contextType, participants, messages } = conversation;
  const isOfTrainer = (userId: string) => userId !== account.ownerUserId;
  if (contextType === 'proposal_dm' && messages.every((one) => isOfTrainer(one.senderUserId))) {
    throw refusalOf('employer_first_message_required');
  }
  const message = addMessage(marketplace, conversation, {
    senderUserId: senderUserId ?? participants.find(isOfTrainer) ?? '',
    body,
    attachments: attachments.map(({ refusal, ...file }) => ({
      ...file,
      id: marketplace.ids.nextCredential('att').slice(0, 'att_'.length + 32),
      refusal: refusal ?? (Buffer.byteLength(file.contentBase64, 'base64') > maxAttachmentBytes ? 'OVERSIZE' : null),
    })),
  });
  const data = { conversationId, messageId: message.id };
  raiseFeed(marketplace, account, 'message.received', { resourceId: message.id, jobId, data });
  return { ...data, attachmentIds: message.attachments.map(({ id }) => id) };
}

export function restrictConversation(marketplace: Marketplace, id: string, { refusal }: Wanted<'SendRefusal'>) {
  findConversation(marketplace, id).conversation.refusal = refusal;
  return { conversationId: id, refusal };
}

export function setMessageState(marketplace: Marketplace, messageId: string, { state }: Wanted<'MessageState'>) {
  const { messages } = findConversation(marketplace, messageId).conversation;
  for (const message of messages) if (message.id === messageId) message.state = state;
  return { messageId, state };
}

/** Replaces what was observed of the same mail. */
export function observeMail({ state, now }: Marketplace, jobId: string, wanted: Partial<wants.NewMail>) {
  const { isComplained, ...observed } = parseControl(wants.NewMail, wanted);
  const observedAt = now();
  const mail = { ...observed, jobId, observedAt, complainedAt: isComplained ? observedAt : null };
  const account = findIn(state.accounts, 'account', findIn(state.jobs, 'job', jobId).organizationId);
  const keys = ['messageId', 'milestoneId', 'recipientUserId'] as const;
  account.mails = [...account.mails.filter((one) => keys.some((key) => one[key] !== mail[key])), mail];
  return mail;
}

/** The conversation with this id, or with the message of this id. */
function findConversation(marketplace: Marketplace, wanted: string) {
  const isWanted = ({ id }: { id: string }) => id === wanted;
  for (const account of marketplace.state.accounts.values()) {
    const all = conversationsOf(marketplace, account);
    const conversation = all.find((one) => isWanted(one) || one.messages.some(isWanted));
    if (conversation !== undefined) return { account, conversation };
  }
  throw new AppError('not_found', `No conversation with ${wanted}`);
}
