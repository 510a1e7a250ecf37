import { type Placeholder, placeholderPattern } from '../domain/invitation.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { stripControl, withoutLinks } from '../lib/text.ts';
import type { Mail } from './send-mail.ts';

/** How mails look, as configured. */
export interface MailStyle {
  from: string;
  replyTo?: string | undefined;
  subject: string;
  /** The text that replaces the usual one. */
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

You have been invited to work on {project}. Open this link to get in:

{link}

The link is valid {expires}. It is only for you, so please do not share it.
`;

/**
 * Pure: the mail that says how a trainer gets in; null where the tool gave nothing that is safe to click on. Names
 * and titles come from strangers: they are inserted and never searched for placeholders.
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

/** In one pass: inserted text is not searched again. */
function fill(text: string, values: Record<Placeholder, string>): string {
  return text.replace(placeholderPattern, (whole, name: string) => new Map(Object.entries(values)).get(name) ?? whole);
}

function isWebLink(url: string): boolean {
  return /^https?:\/\/[^\s<>"\p{C}]+$/iu.test(url) && URL.canParse(url);
}

const longestName = 100;

/** On one line, and without a link of its own: the mail vouches for the link it brings. */
function toPlain(text: string | null): string {
  // Cut first and searched afterwards: the rest of an address may be another address.
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

/** Of the invitation and not of the try: a repeat after a crash has the same id. */
function messageIdOf({ membershipId, createdAt }: Invited, from: string): string {
  const at = Date.parse(createdAt).toString(36);
  return `<gangway.invitation.${membershipId}.${at}@${domainOf(from).replace('>', '')}>`;
}
