import { createHash } from 'node:crypto';
import type { EmployerCall } from './employer-operations.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';

/** Attachments, and members of conversations (spec: part B, section 4.2). */

/** What is answered with bytes instead of JSON. */
export class BytesAnswer {
  readonly bytes: Buffer;
  readonly headers: Record<string, string>;

  constructor(bytes: Buffer, headers: Record<string, string>) {
    this.bytes = bytes;
    this.headers = headers;
  }
}

/** What is refused before the token is looked at. */
export function checkAttachment({ ids: [message = '', attachment = ''], query }: Pick<EmployerCall, 'ids' | 'query'>) {
  demand(message.trim() !== '', 'a message is required', { reason: 'MESSAGE_ID_REQUIRED' });
  demand(message.length <= 128, 'the id is too long', { reason: 'INVALID_MESSAGE_ID' });
  demand(/^att_[0-9a-f]{32}$/.test(attachment), 'the id is malformed', { reason: 'INVALID_ATTACHMENT_ID' });
  const wanted = query.getAll('delivery');
  const isKnown = wanted.every((one) => ['bytes', 'inline', 'resource', 'auto'].includes(one));
  demand(wanted.length <= 1 && isKnown, 'delivery is not valid', { reason: 'INVALID_DELIVERY' });
}

export function readAttachment({ state, account, token, ids, query, address }: EmployerCall): object {
  for (const key of [token.id, address]) state.count(`attachments ${key}`, { limit: 10, windowMs: 60_000 });
  const [messageId = '', attachmentId = ''] = ids;
  const details = { resource: 'message_attachment' };
  const message = state.own('message', account, messageId, details);
  const isHidden = ['MESSAGE_DELETED', 'MESSAGE_HIDDEN'].includes(message.unavailable);
  // A hidden message reveals nothing of what is attached to it.
  orNotFound(isHidden || message.attachmentId === attachmentId || undefined, 'Attachment', details);
  const reason = message.unavailable;
  if (reason !== null) throw new Refusal('ATTACHMENT_UNAVAILABLE', 'the attachment cannot be had', { reason });
  const { bytes, fileName } = message;
  const type = bytes.toString('latin1', 1, 4) === 'PNG' ? 'image/png' : 'application/octet-stream';
  const automatic = type === 'image/png' && bytes.length <= 4 * 2 ** 20 ? 'inline' : 'resource';
  const wanted = query.get('delivery') ?? 'bytes';
  return new BytesAnswer(bytes, {
    'content-type': type,
    'content-disposition': `attachment; filename="${fileName}"`,
    'x-opentrain-byte-size': String(bytes.length),
    'x-opentrain-sha256': createHash('sha256').update(bytes).digest('hex'),
    'x-opentrain-mime-type': type,
    'x-opentrain-source': 'PRIVATE_STORAGE',
    'x-opentrain-delivery': wanted === 'auto' ? automatic : wanted,
    'x-opentrain-message-id': messageId,
    'x-opentrain-attachment-id': attachmentId,
  });
}

/** A conversation of a contract has the hired trainer as its only member. */
export function readMember({ state, account, token, query }: EmployerCall): object {
  const selectors = ['userId', 'contractId', 'workEmail'].filter((name) => query.has(name));
  const isWhole = query.has('conversationId') && selectors.length === 1;
  demand(isWhole, 'a conversation and exactly one selector are required');
  const contracts = state.list('contract', account.id);
  const contract = contracts.find(({ id }) => `dm_${id}` === query.get('conversationId'));
  if (contract === undefined) return { membership: 'none' };
  const { userId, displayName } = contract.freelancer;
  const known: Record<string, string> = { userId, contractId: contract.id, workEmail: `${userId}@opentrain.work` };
  if (selectors.some((name) => query.get(name) !== known[name])) return { membership: 'none' };
  const isShown = query.get('includeWorkEmail') === 'true' && token.scopes.includes('participant_work_email:read');
  const email = isShown && { workEmail: known['workEmail'] };
  return { membership: { userId, contractId: contract.id, displayName, role: 'TRAINER', ...email } };
}
