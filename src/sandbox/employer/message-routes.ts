import { messages, messaging } from '../../marketplace/contract/messages.ts';
import { type AccountCall, type CallOf, forAccount, type Route } from '../api-router.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import { toPage } from '../public-shapes.ts';
import type { Conversation, Mail, Message } from './account.ts';
import { addMessage, contractIn, conversationsOf, findConversation, membersOf, visibleIn } from './conversation.ts';
import { requireJob } from './employer-route.ts';

/** Conversations, messages, the mail about them, and who takes part (spec: part A section 8, part B section 4.2). */
export const messageRoutes: readonly Route[] = [
  forAccount(messages.conversations, ({ marketplace, account, input }) => {
    const records = conversationsOf(marketplace, account).map((one) => toRecord(marketplace, one));
    records.sort((one, other) => Date.parse(other.updatedAt ?? '') - Date.parse(one.updatedAt ?? ''));
    return toPage('conversations', records, { limit: 20, ...input });
  }),
  forAccount(messages.list, listMessages),
  forAccount(messages.send, (call) => {
    const conversation = findConversation(call, call.input.conversationId);
    const { refusal = null } = conversation;
    if (refusal !== null)
      throw refusalOf(refusal, refusal === 'message_policy_blocked' ? { policy: 'contact_details' } : {});
    const written = { senderUserId: call.account.ownerUserId, body: call.input.body, attachments: [] };
    return { message: toShown(conversation, addMessage(call.marketplace, conversation, written)) };
  }),
  forAccount(messages.emailAudit, auditMail),
  forAccount(messaging.members, (call) => {
    const all = membersOf(call, findConversation(call, call.input.conversationId), call.input);
    const page = toPage('members', all, call.input);
    return { ...page, hasMore: page.nextCursor !== null };
  }),
  forAccount(messaging.member, readMember),
  forAccount(messaging.conversations, (call) => {
    const { jobId, contextType, participantUserId, updatedAfter, needsEmployerReply, ...paging } = call.input;
    requireJob(call, jobId);
    const rows = conversationsOf(call.marketplace, call.account)
      .filter((one) => one.jobId === jobId && (contextType ?? one.contextType) === one.contextType)
      .filter(({ participants }) => participantUserId === undefined || participants.includes(participantUserId))
      .map((one) => toRow(call, one))
      .filter((row) => updatedAfter === undefined || Date.parse(row.updatedAt ?? '') > Date.parse(updatedAfter))
      .filter((row) => (needsEmployerReply ?? row.needsEmployerReply) === row.needsEmployerReply);
    return toPage('conversations', rows, paging);
  }),
];

function toRecord({ state }: Marketplace, { id, jobId, contextType, messages: all }: Conversation) {
  const begunAt = state.contracts.get(id.replace('dm_', ''))?.createdAt;
  const updatedAt = all.at(-1)?.sentAt ?? begunAt ?? null;
  return { id, jobId, contextType, title: state.jobs.get(jobId)?.title ?? null, updatedAt };
}

/** What was deleted or hidden is not shown. */
function toShown(
  { id: conversationId }: Conversation,
  { id, senderUserId, sentAt, body, state, attachments }: Message,
) {
  const isShown = state === 'SENT';
  const shown = attachments.map(({ id: attachmentId, fileName, refusal }) => {
    return { attachmentId, fileName, retrieval: { bytes: refusal === null } };
  });
  return { id, conversationId, senderUserId, sentAt, body: isShown ? body : null, attachments: isShown ? shown : [] };
}

/** The cursor is the id of the last message of the page before, in either direction. */
function listMessages(call: CallOf<typeof messages.list>) {
  const { conversationId, direction = 'older', cursor, limit = 50 } = call.input;
  const conversation = findConversation(call, conversationId);
  const shown = visibleIn(conversation).map((one) => toShown(conversation, one));
  const all = direction === 'older' ? shown.reverse() : shown;
  return toPage('messages', all, { cursor, limit }, ({ id }) => id);
}

const longestRangeMs = 31 * 86_400_000;

function auditMail(call: CallOf<typeof messages.emailAudit>) {
  const { account, input } = call;
  requireJob(call, input.jobId);
  const wanted = selectMessages(call);
  const { milestoneId, recipientUserId } = input;
  const mails = account.mails.filter(
    ({ jobId, ...mail }) =>
      jobId === input.jobId &&
      (wanted === undefined ? mail.milestoneId === milestoneId : wanted.includes(String(mail.messageId))) &&
      (recipientUserId ?? mail.recipientUserId) === mail.recipientUserId,
  );
  const seen = mails.map(({ messageId }) => messageId);
  const unobservedMessageIds = wanted?.filter((id) => !seen.includes(id)) ?? [];
  return { ...toPage('observations', mails.map(toObservation), input), unobservedMessageIds };
}

const selectors = ['messageIds', 'conversationId since until', 'milestoneId', 'milestoneId recipientUserId'];

/** The messages that are asked about; undefined for a milestone. @throws Refusal unless there is exactly one selector */
function selectMessages(call: CallOf<typeof messages.emailAudit>): string[] | undefined {
  const { jobId, cursor: _, limit: __, ...selected } = call.input;
  const [from, to] = [Date.parse(selected.since ?? ''), Date.parse(selected.until ?? '')];
  const isSelector = selectors.includes(Object.keys(selected).sort().join(' '));
  if (!isSelector || to < from || to - from > longestRangeMs) {
    const problem = `Exactly one selector is needed: ${selectors.join(', or ')}; of 31 days at most`;
    throw new Refusal('invalid', problem, { supportedSelectors: selectors });
  }
  if (selected.conversationId === undefined) return selected.messageIds;
  const conversation = findConversation(call, selected.conversationId);
  if (conversation.jobId !== jobId) return [];
  const sent = conversation.messages.filter(({ sentAt }) => Date.parse(sentAt) >= from && Date.parse(sentAt) <= to);
  return sent.map(({ id }) => id);
}

function toObservation({ jobId: _, milestoneId: __, recipientUserId: ___, recipient, ...mail }: Mail) {
  return { ...mail, recipient: `${recipient.slice(0, 1)}***${recipient.slice(recipient.indexOf('@'))}` };
}

function readMember(call: CallOf<typeof messaging.member>) {
  const { conversationId, userId, contractId, workEmail } = call.input;
  if ([userId, contractId, workEmail].filter((one) => one !== undefined).length !== 1) {
    throw new Refusal('invalid', 'Exactly one of userId, contractId and workEmail is needed', { field: 'userId' });
  }
  const { state } = call.marketplace;
  const conversation = findConversation(call, conversationId);
  const [ofContract] = state.contracts.get(contractId ?? '')?.participants ?? [];
  const ofEmail = [...state.trainers.values()].find((one) => workEmail !== undefined && one.workEmail === workEmail);
  const wanted = userId ?? (ofEmail ?? ofContract)?.opentrainUserId ?? '';
  const member = membersOf(call, conversation, call.input).find(
    (one) => one.userId === wanted && (contractId ?? one.contractId) === one.contractId,
  );
  if (conversation.contextType !== 'channel') return { membership: member ?? 'none' };
  const canAdd = member === undefined && contractIn(state, conversation, wanted) !== undefined;
  return { membership: member ?? 'none', preflight: { canAdd, canRemove: member?.role === 'FREELANCER' } };
}

function toRow(call: AccountCall, conversation: Conversation) {
  const { marketplace, account } = call;
  const shown = visibleIn(conversation);
  const isResponse = ({ senderUserId }: Message) => senderUserId === account.ownerUserId;
  const last = shown.at(-1);
  const contracts = conversation.participants.map((userId) => contractIn(marketplace.state, conversation, userId));
  const record = toRecord(marketplace, conversation);
  return {
    ...record,
    participants: membersOf(call, conversation).map(({ userId, displayName }) => ({ userId, displayName })),
    contractStatus: contracts.find((one) => one !== undefined)?.status ?? null,
    latestActivityAt: record.updatedAt,
    latestWorkerMessageId: shown.findLast((one) => !isResponse(one))?.id ?? null,
    latestEmployerResponseId: shown.findLast(isResponse)?.id ?? null,
    needsEmployerReply: last !== undefined && !isResponse(last),
  };
}
