import type { Storage } from '../keys/storage.ts';
import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createOutbox } from '../lib/outbox.ts';
import { composeInvitation, type MailStyle } from './compose-invitation.ts';
import { claimMail, type MailClaim, purgeMails, settleSentMail, settleUnsentMail } from './mail-store.ts';
import { longestSendMs, type MailResult, type SendMail } from './send-mail.ts';

export interface MailDeps extends Storage, Polling {
  send: SendMail;
  style: MailStyle;
  managedDomains: readonly string[];
  metrics: Metrics;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

const purgeMs = 3_600_000;

/** Mails invitations one after the other; any instance may. */
export function createMailWorker(deps: MailDeps): Loop {
  const { logger, clock } = deps;
  const mailNext = createMailing(deps);
  let purgeAt = '';
  return createLoop({
    name: 'mail',
    pollMs: deps.pollMs,
    logger,
    clock,
    async run(signal) {
      const now = toInstant(clock.now());
      if (now >= purgeAt) {
        await purgeMails(deps, now);
        purgeAt = instantIn(clock, purgeMs);
      }
      return await mailNext(signal);
    },
  });
}

/** Mails what is due, one mail per call. */
export function createMailing(deps: MailDeps): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { managedDomains, clock } = deps;
  return createOutbox<MailClaim, MailResult>({
    claim: (lease) => claimMail(deps, { ...lease, managedDomains }),
    send: (claim, signal) => mail(deps, claim, signal),
    settle: (claim, sent) => settle(deps, claim, sent),
    isDown: ({ outcome }) => outcome === 'unusable',
    longestSendMs,
    clock,
  });
}

async function mail({ send, style, clock }: MailDeps, claim: MailClaim, signal: AbortSignal): Promise<MailResult> {
  const composed = composeInvitation(style, claim, clock.now());
  if (composed === null) return { outcome: 'refused', failure: 'the tool gave no http(s) link' };
  return await send(composed, signal);
}

async function settle(deps: MailDeps, claim: MailClaim, sent: MailResult): Promise<void> {
  const subject = { tool: claim.tool, membership: claim.membershipId };
  deps.metrics.invitations.inc({ outcome: sent.outcome });
  if (sent.outcome === 'sent') {
    await settleSentMail(deps, claim, toInstant(deps.clock.now()));
    deps.logger.info(subject, 'An invitation was mailed');
    return;
  }
  const { outcome, failure } = sent;
  const nextAttemptAt = outcome === 'refused' ? null : instantIn(deps.clock, backoffMs(claim.attempts));
  await settleUnsentMail(deps, claim, failure, nextAttemptAt);
  const fields = { ...subject, failure, nextAttemptAt };
  if (outcome === 'refused') deps.alerts.raise('invitation_refused', fields, 'The mail server refused an invitation');
  else deps.logger.warn(fields, 'An invitation could not be mailed yet');
}
