import type { Config } from '../config/config-schema.ts';
import type { Context } from '../context.ts';
import { type Placeholder, placeholderPattern } from '../domain/invitation.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { createOutbox } from '../lib/outbox.ts';
import { backoffMs } from '../lib/retry.ts';
import { stripControl, withoutLinks } from '../lib/text.ts';
import { sayInstant } from '../lib/units.ts';
import { claimMail, type Invited, type MailClaim, settleMail } from './mail-store.ts';
import { longestSendMs, type Mail, type MailResult, type SendMail } from './send-mail.ts';

/** How invitations are mailed. */
export interface Mailing {
  send: SendMail;
  style: MailStyle;
}

/** How mails look, as configured. The template replaces the default text. */
export type MailStyle = Omit<NonNullable<Config['mail']>, 'smtp'>;

/** Mails invitations one after the other; any instance may. */
export function createMailWorker(ctx: Context, mailing: Mailing): Loop {
  return createLoop({ ...ctx, name: 'mail', run: createMailing(ctx, mailing) });
}

/** Mails what is due, one mail per call. */
export function createMailing(
  ctx: Context,
  { send, style }: Mailing,
): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { clock } = ctx;
  const { managedDomains } = ctx.config.marketplace;
  return createOutbox<MailClaim, MailResult>({
    claim: (lease) => claimMail(ctx, { ...lease, managedDomains }),
    async send(claim, signal) {
      const mail = composeInvitation(style, claim, clock.now());
      return mail === null
        ? { outcome: 'refused', failure: 'the tool gave no http(s) link' }
        : await send(mail, signal);
    },
    settle: (claim, sent) => settle(ctx, claim, sent),
    isDown: ({ outcome }) => outcome === 'unusable',
    longestSendMs,
    clock,
  });
}

async function settle(ctx: Context, claim: MailClaim, sent: MailResult): Promise<void> {
  const subject = { tool: claim.tool, membership: claim.membershipId };
  ctx.metrics.invitations.inc({ outcome: sent.outcome });
  if (sent.outcome === 'sent') {
    await settleMail(ctx, claim, { sentAt: toInstant(ctx.clock.now()) });
    ctx.logger.info(subject, 'An invitation was mailed');
    return;
  }
  const { outcome, failure } = sent;
  const nextAttemptAt = outcome === 'refused' ? null : instantIn(ctx.clock, backoffMs(claim.attempts));
  await settleMail(ctx, claim, { failure, nextAttemptAt });
  const fields = { ...subject, failure, nextAttemptAt };
  const refused = 'The mail server refused an invitation';
  ctx.logger.warn(fields, outcome === 'refused' ? refused : 'An invitation could not be mailed yet');
}

const defaultText = `Hello {name},

You have been invited to work on {project}. Open this link to get in:

{link}

The link is valid {expires}. It is only for you, so please do not share it.
`;

/**
 * Pure: the mail that tells a trainer how to get in; null if the tool gave no link that is safe to click. Names and
 * titles come from strangers: they are inserted, and never searched for placeholders.
 */
export function composeInvitation(style: MailStyle, invited: Invited, date: Date): Mail | null {
  const { url, expiresAt } = invited;
  if (!isWebLink(url)) return null;
  const { from, replyTo, subject, template = defaultText } = style;
  const values: Record<Placeholder, string> = {
    link: url,
    project: toPlain(invited.project) || 'your project',
    name: toPlain(invited.displayName) || 'there',
    expires: expiresAt === null ? 'until further notice' : `until ${sayInstant(expiresAt)}`,
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

/** On one line, and without links: the only link in the mail is the invitation. */
function toPlain(text: string | null): string {
  // It is cut before it is searched, because the rest of an address may be another address.
  const plain = stripControl(text ?? '')
    .trim()
    .slice(0, longestName)
    .toWellFormed();
  return withoutLinks(plain).trim();
}

/** Of the invitation and not of the attempt: a repeat after a crash has the same id. */
function messageIdOf({ membershipId, createdAt }: Invited, from: string): string {
  const at = Date.parse(createdAt).toString(36);
  return `<gangway.invitation.${membershipId}.${at}@${domainOf(from).replace('>', '')}>`;
}
