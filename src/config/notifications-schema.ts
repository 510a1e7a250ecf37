import { z } from 'zod';
import { noticeTopics } from '../domain/notice.ts';
import { duration, mapOf, name } from './values-schema.ts';

/** Where people are told of budgets and alerts, outside of Gangway: the section `notifications`. */

/** As it is: a query or a slash at its end may matter to whoever gave it. */
const url = z
  .string()
  .refine(isCallable, 'write an http(s) URL without credentials and fragment')
  .meta({ secret: true });

function isCallable(text: string): boolean {
  if (!URL.canParse(text) || !/^[\x21-\x7e]+$/.test(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + hash === '';
}

const [fewestBytes, mostBytes] = [24, 64];

const signingSecret = z
  .string()
  .refine(
    isSigningSecret,
    'write "whsec_" and 24 to 64 bytes in base64: make one with: echo "whsec_$(openssl rand -base64 32)"',
  )
  .meta({ secret: true });

function isSigningSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z\d+/]+=*)$/.exec(text) ?? [];
  if (base64 === undefined) return false;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64) return false;
  const { length } = bytes;
  return length >= fewestBytes && length <= mostBytes;
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
  secret: signingSecret.describe('What they are signed with: "whsec_" and 24 to 64 bytes in base64.'),
  tells,
});

const slack = z.strictObject({
  type: z.literal('slack').describe('A message for what comes within a minute: Slack, Mattermost, Discord (…/slack).'),
  url: url.describe('The URL of the incoming webhook. Who has it can write there: a secret.'),
  tells,
});

const mail = z.strictObject({
  type: z.literal('mail').describe('A mail for what comes within a minute, by the server of mail.'),
  to: z.array(address).min(1, 'name at least one').max(50).describe('The addresses it goes to.'),
  tells,
});

const channel = z.discriminatedUnion('type', [webhook, slack, mail], {
  error: ({ code }) => (code === 'invalid_union' ? 'must have a type: "webhook", "slack" or "mail"' : undefined),
});

export const notifications = z
  .strictObject({
    repeat: duration('7d', 3_600_000).describe(
      'After how long a budget that is still low or used up is told of again; an hour at least.',
    ),
    channels: mapOf(name, channel).describe('Where people are told, by a name of your choice.'),
  })
  .transform(({ repeat, ...rest }) => ({ ...rest, repeatMs: repeat }))
  .prefault({})
  .describe('Telling people of budgets that run low or out, and of alerts. Without a channel, nobody is told.');
