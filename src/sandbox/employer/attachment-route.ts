import { createHash } from 'node:crypto';
import { minuteMs } from '../../lib/clock.ts';
import { messages } from '../../marketplace/contract/messages.ts';
import type { Reason } from '../../marketplace/contract/refusals.ts';
import { type AccountCall, type CallOf, FileAnswer, forAccount } from '../api-router.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Attachment, Message } from './account.ts';
import { conversationsOf, visibleIn } from './conversation.ts';

/** The bytes of an attachment, with an audit of each read (spec: part B section 4.2). */
export const attachmentRoute = forAccount(messages.attachment, readAttachment, requireAddress);

const maxInlineBytes = 4 * 1024 * 1024;
const readsPerMinute = 10;

/** Before the token is checked. */
function requireAddress({ messageId, attachmentId, delivery = 'bytes' }: Record<string, unknown>): void {
  if (String(messageId).trim() === '') throw refusalOf('MESSAGE_ID_REQUIRED');
  if (!/^[\x21-\x7e]{1,128}$/.test(String(messageId))) throw refusalOf('INVALID_MESSAGE_ID');
  if (!/^att_[0-9a-f]{32}$/.test(String(attachmentId))) throw refusalOf('INVALID_ATTACHMENT_ID');
  if (!['bytes', 'inline', 'resource', 'auto'].some((one) => one === delivery)) throw refusalOf('INVALID_DELIVERY');
}

function readAttachment(call: CallOf<typeof messages.attachment>): FileAnswer {
  countRead(call);
  const { marketplace, account, token, input } = call;
  const { messageId, attachmentId } = input;
  const message = conversationsOf(marketplace, account)
    .flatMap(visibleIn)
    .find(({ id }) => id === messageId);
  const attachment = message?.attachments.find(({ id }) => id === attachmentId);
  const readAt = marketplace.now();
  const read = { messageId, attachmentId, actorUserId: account.ownerUserId, tokenId: token.id, readAt };
  const refusal = (message && reasonOfState[message.state]) ?? attachment?.refusal;
  if (refusal) {
    account.attachmentReads.push({ ...read, refusal });
    throw refusalOf(refusal);
  }
  if (attachment === undefined) {
    throw new Refusal('not_found', 'There is no such attachment', { resource: 'message_attachment' });
  }
  const { bytes, fileName, ...file } = inspect(attachment, input.delivery);
  account.attachmentReads.push({ ...read, ...file });
  const prefix = marketplace.options.headerPrefix ?? 'X-OpenTrain-';
  const headers = {
    'Content-Type': file.mimeType,
    'Content-Disposition': `attachment; filename="${fileName}"`,
    [`${prefix}Byte-Size`]: String(file.byteSize),
    [`${prefix}Sha256`]: file.sha256,
    [`${prefix}Mime-Type`]: file.mimeType,
    [`${prefix}Source`]: file.source,
    [`${prefix}Delivery`]: file.delivery,
    [`${prefix}Message-Id`]: messageId,
    [`${prefix}Attachment-Id`]: attachmentId,
  };
  return new FileAnswer(headers, bytes);
}

const reasonOfState: Partial<Record<Message['state'], Reason>> = {
  DELETED: 'MESSAGE_DELETED',
  HIDDEN: 'MESSAGE_HIDDEN',
};

/** On the timeline, so that a minute passes when the sandbox is advanced. */
function countRead({ marketplace, account, token }: AccountCall): void {
  const nowMs = marketplace.timeline.nowMs();
  const times = (account.readTimes.get(token.id) ?? []).filter((at) => at > nowMs - minuteMs);
  if (times.length >= readsPerMinute) {
    const waitMs = Math.min(...times) + minuteMs - nowMs;
    throw new Refusal('rate_limited', 'Too many reads of attachments', { limit: readsPerMinute }, waitMs);
  }
  account.readTimes.set(token.id, [...times, nowMs]);
}

/** The types that are recognised by their first bytes, in hexadecimal. Anything else is only a file. */
const images = [
  { mimeType: 'image/png', extension: 'png', start: /^89504e470d0a1a0a/ },
  { mimeType: 'image/jpeg', extension: 'jpg', start: /^ffd8ff/ },
  { mimeType: 'image/webp', extension: 'webp', start: /^52494646.{8}57454250/ },
  { mimeType: 'image/gif', extension: 'gif', start: /^474946383[79]61/ },
];

/** What is verified of a file. A file that is not what its sender said is no image. */
function inspect({ id, fileName, contentBase64, declaredType, source }: Attachment, wanted = 'bytes') {
  const bytes = Buffer.from(contentBase64, 'base64');
  const image = images.find(({ start }) => start.test(bytes.toString('hex', 0, 12)));
  const isImage = image !== undefined && [null, image.mimeType].includes(declaredType);
  const { mimeType, extension } = isImage ? image : { mimeType: 'application/octet-stream', extension: 'bin' };
  const safeName = fileName.replaceAll(/[^\w .-]/g, '_').slice(0, 100);
  const presented = isImage && bytes.length <= maxInlineBytes ? 'inline' : 'resource';
  return {
    bytes,
    fileName: /[a-z\d]/i.test(safeName) ? safeName : `attachment-${id}.${extension}`,
    byteSize: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    mimeType,
    source,
    delivery: wanted === 'auto' ? presented : wanted,
  };
}
