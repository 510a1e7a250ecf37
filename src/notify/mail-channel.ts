import { domainOf } from '../domain/marketplace-text.ts';
import type { Channel, MessageResult } from './channel.ts';
import { composeDigest } from './compose-digest.ts';
import { longestSendMs, type SendMail } from './send-mail.ts';

export interface MailSettings {
  type: 'mail';
  to: readonly string[];
}

/** The sender of all mail. */
export interface MailSender {
  from: string;
  replyTo?: string | undefined;
}

const maxLength = 50_000;

/** Sends what waits as one mail to all receivers. */
export function createMailChannel(
  name: string,
  { to }: MailSettings,
  { from, replyTo }: MailSender,
  send: SendMail,
): Channel {
  return {
    name,
    maxNotices: 500,
    longestSendMs,
    async send({ id, createdAt, notices }, signal) {
      const { title, lines } = composeDigest(notices, maxLength);
      const mail = {
        from,
        replyTo,
        to,
        subject: title,
        date: new Date(createdAt),
        text: `${[title, '', ...lines].join('\n').trimEnd()}\n`,
        messageId: `<gangway.${id}@${domainOf(from).replace('>', '')}>`,
      };
      return toSent(await send(mail, signal), to.length);
    },
  };
}

function toSent(sent: Awaited<ReturnType<SendMail>>, count: number): MessageResult {
  if (sent.outcome === 'sent') {
    const { refused } = sent;
    if (refused === undefined) return { outcome: 'sent' };
    return { outcome: 'sent', failure: `${refused} of ${count} addresses were refused` };
  }
  const { outcome, failure } = sent;
  return { outcome: outcome === 'refused' ? 'refused' : 'deferred', failure };
}
