import { createHmac, randomUUID } from 'node:crypto';
import type { Config } from '../config/config-schema.ts';
import { AppError, isTransient } from '../domain/errors.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { NewNotice } from '../domain/notice.ts';
import { runbookOf } from '../lib/alerts.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { requestJson } from '../lib/http-client.ts';
import { adviceOf } from '../lib/troubles.ts';
import { composeDigest } from './compose-digest.ts';
import { createSendMail, longestSendMs, type SendMail } from './send-mail.ts';

/**
 * This folder sends notices out of Gangway, each notice once per channel, however often something breaks in between.
 * Channels never wait for each other. No address, URL or secret of a channel gets into the database, a log or a
 * metric. It also mails invitations to trainers.
 */

/** Sends notices to people. Two sends of one message overlap only if a lease ran out. */
export interface Channel {
  name: string;
  /** How many notices fit into a message. */
  maxNotices: number;
  /** The time-out of a send. */
  longestSendMs: number;
  /** Sends a message once. Never throws. If the send was aborted, the message may still arrive. */
  send(message: Message, signal: AbortSignal): Promise<MessageResult>;
}

export interface Message {
  /** The same at every attempt. */
  id: string;
  /** When the first of its notices was added. The same at every attempt. */
  createdAt: string;
  /** Empty in a test of the channel. */
  notices: readonly NewNotice[];
}

/**
 * `deferred`: it did not arrive, and a later attempt may succeed. `refused`: it was not accepted, and will not be until
 * someone changes a setting. `gone`: the receiver does not want it any more.
 */
export type MessageResult =
  /** With a failure if some of several receivers did not get it. */
  | { outcome: 'sent'; failure?: string }
  | {
      outcome: 'deferred' | 'refused' | 'gone';
      /** A code and the step that failed. It quotes no other system. */
      failure: string;
      /** How long the receiver asked to wait. */
      retryAfterMs?: number | undefined;
    };

/** Creates the configured channels. Sends nothing. */
export function createChannels({ notifications, mail }: Config, clock: Clock): Channel[] {
  const send = mail && createSendMail(mail.smtp);
  return [...notifications.channels].flatMap(([name, settings]) => {
    if (settings.type === 'webhook') return createWebhookChannel(name, settings, clock);
    if (settings.type === 'slack') return createSlackChannel(name, settings);
    // The configuration refuses a mail channel without a mail server.
    return mail && send ? createMailChannel(name, settings, mail, send) : [];
  });
}

/** Sends a message without notices to each channel, all at the same time, without retries. */
export async function tryChannels(channels: readonly Channel[], clock: Clock, signal: AbortSignal) {
  const createdAt = toInstant(clock.now());
  return await Promise.all(
    channels.map(async ({ name, send }) => {
      const message = { id: `msg_${randomUUID()}`, createdAt, notices: [] };
      const { outcome, failure = null } = await send(message, signal);
      return { channel: name, outcome, failure };
    }),
  );
}

const longestPostMs = 15_000;

/** Sends each notice at once, in a signed request of its own. */
export function createWebhookChannel(
  name: string,
  { url, secret }: { url: string; secret: string },
  clock: Clock,
  timeoutMs = longestPostMs,
): Channel {
  return {
    name,
    maxNotices: 1,
    longestSendMs: timeoutMs,
    async send(message, signal) {
      const body = toBody(message);
      // The client sends the JSON of the same object, which is the same text.
      const headers = signMessage(secret, message.id, clock.now(), JSON.stringify(body));
      return await postMessage({ url, headers, body, timeoutMs, signal });
    },
  };
}

/** Pure, and the same at every attempt. */
function toBody({ createdAt, notices: [notice] }: Message): object {
  if (notice === undefined) return { type: 'test', timestamp: createdAt, data: {} };
  const { kind: type, occurredAt: timestamp } = notice;
  const help = { advice: adviceOf(type), runbook: runbookOf(type) };
  if ('about' in notice) {
    const { isOver, isRepeat, endsAtOnce, since, message, about } = notice;
    const state = isOver ? 'over' : 'raised';
    return { type, timestamp, data: { state, isRepeat, endsAtOnce, since, message, about, ...help } };
  }
  const { install, contractId, isRepeat, budget } = notice;
  const subject = { install, contractId, isRepeat, budget };
  if (type === 'budget.ok') return { type, timestamp, data: { state: 'over', ...subject } };
  return { type, timestamp, data: { state: 'raised', ...subject, ...help } };
}

/** The secret of a webhook: "whsec_" and 24 to 64 bytes in base64 (Standard Webhooks). */
const prefix = 'whsec_';

/**
 * Pure: the headers by which a receiver with the secret verifies that a message is from Gangway, complete and fresh
 * (https://www.standardwebhooks.com).
 *
 * @param sentAt of this attempt, because receivers refuse old messages
 * @param body exactly as it is sent
 */
export function signMessage(secret: string, id: string, sentAt: Date, body: string): Record<string, string> {
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

/** The limit of Discord, the lowest of the services that accept Slack's format. */
const longestChat = 2000;

/** Sends all waiting notices as one message. */
export function createSlackChannel(name: string, { url }: { url: string }): Channel {
  return {
    name,
    maxNotices: 500,
    longestSendMs: longestPostMs,
    async send({ notices }, signal) {
      const { title, lines } = composeDigest(notices, longestChat, escapeSlack);
      return await postMessage({ url, body: { text: [title, ...lines].join('\n') }, timeoutMs: longestPostMs, signal });
    },
  };
}

/** Slack gives these three characters a meaning (links, mentions). */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const longestMail = 50_000;

/** Sends all waiting notices as one mail to all receivers. */
export function createMailChannel(
  name: string,
  { to }: { to: readonly string[] },
  { from, replyTo }: { from: string; replyTo?: string | undefined },
  send: SendMail,
): Channel {
  return {
    name,
    maxNotices: 500,
    longestSendMs,
    async send({ id, createdAt, notices }, signal) {
      const { title, lines } = composeDigest(notices, longestMail);
      const mail = {
        from,
        replyTo,
        to,
        subject: title,
        date: new Date(createdAt),
        text: `${[title, '', ...lines].join('\n').trimEnd()}\n`,
        messageId: `<gangway.${id}@${domainOf(from).replace('>', '')}>`,
      };
      const sent = await send(mail, signal);
      if (sent.outcome !== 'sent') {
        return { outcome: sent.outcome === 'refused' ? 'refused' : 'deferred', failure: sent.failure };
      }
      const { refused } = sent;
      return {
        outcome: 'sent',
        ...(refused !== undefined && { failure: `${refused} of ${to.length} addresses were refused` }),
      };
    },
  };
}

interface Post {
  url: string;
  headers?: Record<string, string>;
  body: object;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Sends one POST. Only the status of the answer is passed on, because the rest may quote the URL. A success stays one
 * even if its body is too long or breaks off, but the body must end before the time-out.
 */
async function postMessage(post: Post): Promise<MessageResult> {
  let answered: number | undefined;
  try {
    await requestJson({
      ...post,
      method: 'POST',
      purpose: 'send a notice',
      isAnswerIgnored: true,
      maxBytes: 64 * 1024,
      onHeaders(_, status) {
        answered = status;
      },
    });
    return { outcome: 'sent' };
  } catch (error) {
    return toUnsent(error, answered, post.timeoutMs);
  }
}

function toUnsent(error: unknown, answered: number | undefined, timeoutMs: number): MessageResult {
  if (!(error instanceof AppError)) return { outcome: 'refused', failure: 'it cannot be sent' };
  if (answered === undefined) return { outcome: 'deferred', failure: error.message };
  const { cause, retryAfterMs } = error;
  if (cause instanceof DOMException && cause.name === 'TimeoutError') {
    return { outcome: 'deferred', failure: `answered ${answered}, but not in full within ${timeoutMs} ms` };
  }
  if (answered >= 200 && answered < 300) return { outcome: 'sent' };
  const failure = `answered ${answered}`;
  if (answered === 410) return { outcome: 'gone', failure };
  // The body of a 503 may have broken off, or been too long.
  const isWorthRetrying = answered >= 500 || isTransient(error);
  return isWorthRetrying ? { outcome: 'deferred', failure, retryAfterMs } : { outcome: 'refused', failure };
}
