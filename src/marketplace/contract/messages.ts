import { z } from 'zod';
import { family, op } from './operation.ts';
import { attachmentReasons } from './refusals.ts';
import { id, instant, paging } from './requests.ts';
import { fields, lenient, listing, maybeWord, pageOf, words } from './shapes.ts';
import { Amount, AnyRecord, Email, Flag, Id, Instant, MaybeId, NullableId, Text, Words } from './values.ts';

/** Conversations, messages and the reads of messaging (spec: part A section 8, part B sections 2.2 and 4.2). */

const Attachment = z.object({ attachmentId: Id, fileName: Text, retrieval: lenient(z.object({ bytes: z.unknown() })) });

const Message = z.object({
  id: Id,
  conversationId: NullableId,
  senderUserId: NullableId,
  body: lenient(z.string().nullable()),
  sentAt: Instant,
  attachments: lenient(z.array(Attachment)),
});

const Conversation = z.object({
  id: Id,
  jobId: NullableId,
  contextType: maybeWord('proposal_dm', 'job_dm', 'channel'),
  title: Text,
  updatedAt: Instant,
});

const messagingFeature = 'public_api_messaging';

export const messages = family('messages', { section: 'A 4', scopes: ['messages:read'] })({
  conversations: op('GET /messages', 'list the conversations', {
    ...listing('conversations', Conversation, 20, 50),
    assumed: 'The records of conversations.',
  }),
  list: op('GET /messages/{conversationId}', 'list the messages of a conversation', {
    in: z.object({ direction: z.enum(['older', 'newer']).optional(), ...paging() }),
    out: pageOf('messages', Message),
    limits: ['50 a page, 100 at most'],
    assumed: 'The records of messages beyond attachments.',
  }),
  send: op('POST /messages/{conversationId}', 'send a message', {
    scopes: ['messages:write'],
    in: z.object({ body: z.string().min(1).max(10_000) }),
    out: z.object({ message: Message }),
    status: 201,
    needsClaim: true,
    reasons: ['employer_first_message_required', 'message_policy_blocked', 'read_only_conversation', 'message_blocked'],
    assumed: 'The path, the scope messages:write, the body {body}, and that the account must be claimed.',
  }),
  attachment: op('GET /messages/{messageId}/attachments/{attachmentId}', 'download an attachment', {
    section: 'B 4.2',
    in: z.object({ delivery: z.enum(['bytes', 'inline', 'resource', 'auto']).optional() }),
    isFile: true,
    limits: ['20 MiB', '10 reads a minute'],
    reasons: attachmentReasons,
    refusals: [429, 500, 503],
  }),
  emailAudit: op('GET /messages/email-audit', 'audit the mail about messages', {
    section: 'B 4.2',
    feature: messagingFeature,
    needsClaim: true,
    in: z.object({
      jobId: id,
      messageIds: z.array(id).min(1).max(50).optional(),
      conversationId: id.optional(),
      since: instant.optional(),
      until: instant.optional(),
      milestoneId: id.optional(),
      recipientUserId: id.optional(),
      ...paging(),
    }),
    out: pageOf(
      'observations',
      z.object({
        messageId: NullableId,
        status: words('SENT', 'DELIVERED', 'UNKNOWN'),
        recipient: Text,
        bccCount: Amount,
        complainedAt: Instant,
        observedAt: Instant,
      }),
    ).extend({ unobservedMessageIds: lenient(Words) }),
    limits: ['50 messages', '31 days', '100 a page'],
    assumed:
      'The feature, messageIds as a repeated parameter, and the list observations with messageId, status, masked recipient, bccCount, complainedAt.',
  }),
});

/** Assumed: the record of a member, with at most the managed address. */
const Member = z.object({
  userId: NullableId,
  contractId: NullableId,
  ...fields(Text, 'displayName', 'role', 'source'),
  removedAt: Instant,
  workEmail: Email,
});

const at = '/messaging/management/messaging_management';
const includeWorkEmail = z.boolean().optional();

export const messaging = family('messaging', {
  section: 'B 4.2',
  scopes: ['messages:read'],
  feature: messagingFeature,
  needsClaim: true,
})({
  members: op(`GET ${at}.members.list`, 'list the members of a conversation', {
    in: z.object({ conversationId: id, includeRemoved: z.boolean().optional(), includeWorkEmail, ...paging() }),
    out: pageOf('members', Member),
    assumed: 'The feature, the name of the list and the fields of a member.',
  }),
  member: op(`GET ${at}.members.get`, 'read the work address of a trainer', {
    in: z.object({
      conversationId: id,
      userId: id.optional(),
      contractId: id.optional(),
      workEmail: z.email().optional(),
      includeWorkEmail,
    }),
    out: z.object({
      membership: lenient(z.union([Member, z.literal('none')])),
      member: lenient(Member),
      preflight: lenient(AnyRecord),
    }),
    assumed: 'The feature; {membership: a member or "none"}; preflight {canAdd, canRemove} in channels.',
  }),
  conversations: op(`GET ${at}.conversations.list`, 'list the conversations of a job', {
    in: z.object({
      jobId: id,
      contextType: z.enum(['proposal_dm', 'job_dm', 'channel']).optional(),
      participantUserId: id.optional(),
      updatedAfter: instant.optional(),
      needsEmployerReply: z.boolean().optional(),
      ...paging(),
    }),
    out: pageOf(
      'conversations',
      Conversation.extend({
        participants: lenient(z.array(z.object({ userId: NullableId, displayName: Text }))),
        contractStatus: MaybeId,
        latestActivityAt: Instant,
        latestWorkerMessageId: NullableId,
        latestEmployerResponseId: NullableId,
        needsEmployerReply: Flag,
      }),
    ),
    assumed: 'The feature and the fields of a row.',
  }),
});
