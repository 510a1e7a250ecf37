import { type Placeholder, placeholderPattern } from '../domain/invitation.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { stripControl } from '../lib/strip-control.ts';
import { withoutLinks } from '../lib/without-links.ts';
import type { Mail } from './send-mail.ts';

/** How mails are to look, as configured. */
export interface MailStyle {
  from: string;
  replyTo?: string | undefined;
  subject: string;
  /** The text, where it is not to be the usual one. */
  template?: string | undefined;
}

export interface Invited {
  membershipId: number;
  address: string;
  displayName: string | null;
  project: string | null;
  url: string;
  expiresAt: string | null;
  /** When the tool made the invitation. */
  createdAt: string;
}

const usualText = `Hello {name},

you have been invited to work on {project}. This is your way in:

{link}

The link holds {expires}. It is meant for you: please do not pass it on.
`;

/**
 * Pure: the mail that tells somebody how they get in; null where the tool gave nothing that is safe
 * to click on. Names and titles are strangers' words: they are put in, and never looked at for
 * further placeholders.
 */
export function composeInvitation(style: MailStyle, invited: Invited, date: Date): Mail | null {
  if (!isWebLink(invited.url)) return null;
  const { from, replyTo, subject, template = usualText } = style;
  const values: Record<Placeholder, string> = {
    link: invited.url,
    project: toPlain(invited.project) || 'your project',
    name: toPlain(invited.displayName) || 'there',
    expires: sayExpiry(invited.expiresAt),
  };
  return {
    from,
    replyTo,
    to: invited.address,
    date,
    subject: fill(subject, values),
    text: fill(template, values),
    messageId: messageIdOf(invited, from),
  };
}

/** In one go: what is put in is not looked at again. */
function fill(text: string, values: Record<Placeholder, string>): string {
  return text.replace(placeholderPattern, (whole, name: string) => new Map(Object.entries(values)).get(name) ?? whole);
}

function isWebLink(url: string): boolean {
  return /^https?:\/\/[^\s<>"\p{C}]+$/iu.test(url) && URL.canParse(url);
}

const longestName = 100;

/** On one line, and without a link of its own: the mail vouches for the one it brings. */
function toPlain(text: string | null): string {
  // Cut before it is looked at: what is left of an address may be another one.
  const plain = stripControl(text ?? '')
    .trim()
    .slice(0, longestName)
    .toWellFormed();
  return withoutLinks(plain).trim();
}

function sayExpiry(expiresAt: string | null): string {
  if (expiresAt === null) return 'until further notice';
  return `until ${expiresAt.slice(0, 10)} ${expiresAt.slice(11, 16)} UTC`;
}

/** Of the invitation, not of the try to mail it: a repeat after a crash is recognised by it. */
function messageIdOf({ membershipId, createdAt }: Invited, from: string): string {
  const at = Date.parse(createdAt).toString(36);
  return `<gangway.invitation.${membershipId}.${at}@${domainOf(from).replace('>', '')}>`;
}
