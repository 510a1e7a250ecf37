import { z } from 'zod';
import { placeholderPattern, placeholders } from '../domain/invitation.ts';
import { toMailServer } from '../lib/mail-server.ts';
import { suggestNearest } from './nearest.ts';

/** How people are told how they get in: the section `mail`. */

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

/** Braces that mean nothing would reach people as they are. */
function withPlaceholders(allowed: readonly string[]) {
  return z.string().superRefine((text, context) => {
    for (const [whole, name = ''] of text.matchAll(placeholderPattern)) {
      if (allowed.includes(name)) continue;
      context.addIssue(`nothing can stand for ${whole} here${suggestNearest(name, allowed)}`);
    }
  });
}

export const mail = z
  .strictObject({
    smtp: server.describe('The mail server: "smtps://user:password@host:465".'),
    from: mailbox.describe('Whom mail is from: an address, or "Name <address>".'),
    replyTo: mailbox.optional().describe('Where answers go, if not to whom it is from.'),
    subject: withPlaceholders(placeholders.filter((name) => name !== 'link'))
      .refine((text) => !/\p{Cc}/u.test(text) && text !== '', 'must be one line, and not empty')
      .default('How to get into {project}')
      .describe('The subject; {project}, {name} and {expires} stand for what they say.'),
    template: withPlaceholders(placeholders)
      .refine((text) => text.includes('{link}'), 'must have {link}: nobody could get in without')
      .optional()
      .describe('A file with the text, as plain text: {link}, {project}, {name} and {expires}.'),
  })
  .optional()
  .describe('Telling people how they get in, by mail. Without it, an operator tells them.');
