import { z } from 'zod';
import { noticeTopics } from '../domain/notice.ts';
import { duration, mapOf, name, section } from './values-schema.ts';

/** The section `notifications`: where notices about budgets and alerts are sent. */

/** Kept as it is, because a query or a slash at the end may matter to the receiver. */
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

const address = z.string().regex(/^[^\s<>@",;:\p{Cc}]+@[^\s<>@",;:\p{Cc}]+$/u, 'write an address: "ops@example.com"');

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

const mail = z.strictObject({
  type: z.literal('mail').describe('One mail for the notices of a minute, sent with the section mail.'),
  to: z.array(address).min(1, 'name at least one').max(50).describe('The addresses it goes to.'),
  tells,
});

const channel = z.discriminatedUnion('type', [webhook, slack, mail], {
  error: ({ code }) => (code === 'invalid_union' ? 'must have a type: "webhook", "slack" or "mail"' : undefined),
});

export const notifications = section(
  'Notices about alerts and about budgets that are low or used up. Without a channel, none are sent.',
  {
    repeat: duration('7d', 3_600_000).describe(
      'After how long the notice about an alert that still stands, or a budget that is still low or used up, is repeated; at least an hour.',
    ),
    channels: mapOf(name, channel).describe('The receivers of notices, each by a name of your choice.'),
  },
).transform(({ repeat, ...rest }) => ({ ...rest, repeatMs: repeat }));
