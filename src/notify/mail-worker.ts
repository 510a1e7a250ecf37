import type { Context } from '../context.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { createOutbox } from '../lib/outbox.ts';
import { backoffMs } from '../lib/retry.ts';
import { composeInvitation, type MailStyle } from './compose-invitation.ts';
import { claimMail, type MailClaim, settleMail } from './mail-store.ts';
import { longestSendMs, type MailResult, type SendMail } from './send-mail.ts';

/** How invitations are mailed. */
export interface Mailing {
  send: SendMail;
  style: MailStyle;
}

/** Mails invitations one after the other; any instance may. */
export function createMailWorker(ctx: Context, mailing: Mailing): Loop {
  const { logger, clock } = ctx;
  return createLoop({
    name: 'mail',
    pollMs: ctx.pollMs,
    logger,
    clock,
    run: createMailing(ctx, mailing),
  });
}

/** Mails what is due, one mail per call. */
export function createMailing(ctx: Context, mailing: Mailing): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { clock } = ctx;
  const { managedDomains } = ctx.config.marketplace;
  return createOutbox<MailClaim, MailResult>({
    claim: (lease) => claimMail(ctx, { ...lease, managedDomains }),
    send: (claim, signal) => mail(mailing, claim, clock.now(), signal),
    settle: (claim, sent) => settle(ctx, claim, sent),
    isDown: ({ outcome }) => outcome === 'unusable',
    longestSendMs,
    clock,
  });
}

async function mail({ send, style }: Mailing, claim: MailClaim, now: Date, signal: AbortSignal): Promise<MailResult> {
  const composed = composeInvitation(style, claim, now);
  if (composed === null) return { outcome: 'refused', failure: 'the tool gave no http(s) link' };
  return await send(composed, signal);
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
