import { z } from 'zod';
import { placeholderPattern, placeholders } from '../domain/invitation.ts';
import { noticeTopics } from '../domain/notice.ts';
import { suggestNearest } from '../lib/text.ts';
import { duration, mapOf, name, section } from './values-schema.ts';

/** Not changed, because a query or a slash at the end may matter to the receiver. */
const url = z
  .string()
  .refine(isCallable, 'write an http(s) URL without credentials and fragment')
  .meta({ secret: true });

function isCallable(text: string): boolean {
  if (!URL.canParse(text) || !/^[\x21-\x7e]+$/.test(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + hash === '';
}

const signingSecret = z
  .string()
  .refine(
    isSigningSecret,
    'write "whsec_" and 24 to 64 bytes in base64: make one with: echo "whsec_$(openssl rand -base64 32)"',
  )
  .meta({ secret: true });

function isSigningSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z\d+/]+=*)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64');
  return bytes.toString('base64') === base64 && bytes.length >= 24 && bytes.length <= 64;
}

const receiverAddress = z
  .string()
  .regex(/^[^\s<>@",;:\p{Cc}]+@[^\s<>@",;:\p{Cc}]+$/u, 'write an address: "ops@example.com"');

const tells = z
  .array(z.enum(noticeTopics))
  .min(1, 'name at least one')
  .default([...noticeTopics])
  .describe('What it is for: "budgets", or "alerts" (what an operator should look at), or both.');

const webhook = z.strictObject({
  type: z.literal('webhook').describe('A request for each notice, signed: Standard Webhooks.'),
  url: url.describe('Where the requests go: https.'),
  secret: signingSecret.describe('The key of their signature: "whsec_" and 24 to 64 bytes in base64.'),
  tells,
});

const slack = z.strictObject({
  type: z.literal('slack').describe('One message for the notices of a minute: Slack, Mattermost, Discord (…/slack).'),
  url: url.describe('The URL of the incoming webhook. It is a secret, because it gives the right to write there.'),
  tells,
});

const mailChannel = z.strictObject({
  type: z.literal('mail').describe('One mail for the notices of a minute, sent with the section mail.'),
  to: z.array(receiverAddress).min(1, 'name at least one').max(50).describe('The addresses it goes to.'),
  tells,
});

const channel = z.discriminatedUnion('type', [webhook, slack, mailChannel], {
  error: ({ code }) => (code === 'invalid_union' ? 'must have a type: "webhook", "slack" or "mail"' : undefined),
});

/** The section `notifications`: where notices about budgets and alerts are sent. */
export const notifications = section(
  'Notices about alerts and about budgets that are low or used up. Without a channel, none are sent.',
  {
    repeat: duration('7d', 3_600_000).describe(
      'After how long the notice about an alert that still stands, or a budget that is still low or used up, is repeated; at least an hour.',
    ),
    channels: mapOf(name, channel).describe('The receivers of notices, each by a name of your choice.'),
  },
).transform(({ repeat, ...rest }) => ({ ...rest, repeatMs: repeat }));

const server = z
  .string()
  .regex(/^smtps?:\/\//, 'write "smtps://user:password@host:465"')
  .meta({ secret: true })
  .transform((text, context) => {
    const found = toMailServer(text);
    if (found !== undefined) return found;
    context.addIssue('write "smtps://user:password@host:465", with "%40" for an "@" in the password, and no path');
    return z.NEVER;
  });

const mailbox = z
  .string()
  .regex(
    /^(?:[^\p{Cc}<>@",;:]+ <[^\s<>@",;:]+@[^\s<>@",;:]+>|[^\s<>@",;:]+@[^\s<>@",;:]+)$/u,
    'write an address, or a name and an address: "Studio <studio@example.com>"',
  );

/** An unknown placeholder would be mailed as it is. */
function withPlaceholders(allowed: readonly string[]) {
  return z.string().superRefine((text, context) => {
    for (const [whole, name = ''] of text.matchAll(placeholderPattern)) {
      if (allowed.includes(name)) continue;
      context.addIssue(`${whole} is no placeholder here${suggestNearest(name, allowed)}`);
    }
  });
}

/** The section `mail`: how people get their invitations. */
export const mail = z
  .strictObject({
    smtp: server.describe('The mail server: "smtps://user:password@host:465".'),
    from: mailbox.describe('The sender: an address, or "Name <address>".'),
    replyTo: mailbox.optional().describe('The address for answers, if it is not the sender.'),
    subject: withPlaceholders(placeholders.filter((name) => name !== 'link'))
      .refine((text) => !/\p{Cc}/u.test(text) && text !== '', 'must be one line, and not empty')
      .default('How to get into {project}')
      .describe('The subject, with the placeholders {project}, {name} and {expires}.'),
    template: withPlaceholders(placeholders)
      .refine((text) => text.includes('{link}'), 'must have {link}: it is the only way in')
      .optional()
      .describe('A file with the plain text, with the placeholders {link}, {project}, {name} and {expires}.'),
  })
  .optional()
  .describe('Mailing invitations. Without it, an operator passes them on.');

/** The mail server that takes the mail. */
export interface MailServer {
  host: string;
  port: number;
  /** TLS from the first byte, or else STARTTLS, which is required unless the server is on this machine. */
  isEncrypted: boolean;
  /** Null if the server needs none. */
  login: { user: string; password: string } | null;
}

const usualPorts = { encrypted: 465, plain: 587 };

/** @param url `smtps://user:password@host:465` @returns undefined for any other text */
function toMailServer(url: string): MailServer | undefined {
  if (!/^smtps?:\/\/[^\s/?#]+\/?$/.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port, username, password } = new URL(url);
  const isEncrypted = protocol === 'smtps:';
  const [user, secret] = [decode(username), decode(password)];
  if (hostname === '' || user === undefined || secret === undefined) return undefined;
  const usualPort = isEncrypted ? usualPorts.encrypted : usualPorts.plain;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? usualPort : Number(port),
    isEncrypted,
    login: user === '' ? null : { user, password: secret },
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
