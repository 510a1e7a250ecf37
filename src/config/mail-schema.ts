import { z } from 'zod';
import { placeholderPattern, placeholders } from '../domain/invitation.ts';
import { suggestNearest } from './nearest.ts';

/** The section `mail`: how people get their invitations. */

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

/** Unknown placeholders would be mailed as they are. */
function withPlaceholders(allowed: readonly string[]) {
  return z.string().superRefine((text, context) => {
    for (const [whole, name = ''] of text.matchAll(placeholderPattern)) {
      if (allowed.includes(name)) continue;
      context.addIssue(`${whole} is no placeholder here${suggestNearest(name, allowed)}`);
    }
  });
}

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
  /** TLS from the first byte. Otherwise STARTTLS, which is required unless the server is on this machine. */
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
