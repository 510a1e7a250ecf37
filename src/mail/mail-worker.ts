import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { composeInvitation, type MailStyle } from './compose-invitation.ts';
import type { MailClaim, MailStore } from './mail-store.ts';
import { longestSendMs, type MailResult, type SendMail } from './send-mail.ts';

export interface MailDeps extends Polling {
  mails: MailStore;
  send: SendMail;
  style: MailStyle;
  managedDomains: readonly string[];
  metrics: Metrics;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

const purgeMs = 3_600_000;
/** A send fits into it, with the work before and after. */
const leaseMs = 2 * longestSendMs;

/** Mails invitations one after the other; any instance may. */
export function createMailWorker(deps: MailDeps): Loop {
  const { logger, clock, mails } = deps;
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
        await mails.purge(now);
        purgeAt = instantIn(clock, purgeMs);
      }
      return await mailNext(signal);
    },
  });
}

/** Mails what is due, one mail per call. While the server is unusable, nothing is tried. */
export function createMailing(deps: MailDeps): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { clock } = deps;
  let failures = 0;
  let restUntil = '';
  return async (signal) => {
    if (toInstant(clock.now()) < restUntil) return 'idle';
    const claim = await claimNext(deps);
    if (claim === null) return 'idle';
    const sent = await mail(deps, claim, signal);
    // It is not known whether the server has it: it is tried again after the lease, as the same mail.
    if (signal.aborted && sent.outcome !== 'sent') return 'idle';
    failures = sent.outcome === 'unusable' ? failures + 1 : 0;
    const waitMs = backoffMs(Math.max(failures, claim.attempts));
    if (failures > 0) restUntil = instantIn(clock, waitMs);
    await settle(deps, claim, sent, waitMs);
    return 'more';
  };
}

async function claimNext({ mails, clock, managedDomains }: MailDeps): Promise<MailClaim | null> {
  const now = toInstant(clock.now());
  const begunAt = performance.now();
  const claim = await mails.claim({ now, leasedUntil: instantIn(clock, leaseMs), managedDomains });
  // After a freeze of this process, another instance may have the mail.
  return performance.now() - begunAt > leaseMs / 2 ? null : claim;
}

async function mail({ send, style, clock }: MailDeps, claim: MailClaim, signal: AbortSignal): Promise<MailResult> {
  const composed = composeInvitation(style, claim, clock.now());
  if (composed === null) return { outcome: 'refused', failure: 'the tool gave no http(s) link' };
  return await send(composed, signal);
}

async function settle(
  { mails, metrics, alerts, logger, clock }: MailDeps,
  claim: MailClaim,
  sent: MailResult,
  waitMs: number,
): Promise<void> {
  const subject = { tool: claim.tool, membership: claim.membershipId };
  metrics.invitations.inc({ outcome: sent.outcome });
  if (sent.outcome === 'sent') {
    await mails.settleSent(claim, toInstant(clock.now()));
    logger.info(subject, 'An invitation was mailed');
    return;
  }
  const { outcome, failure } = sent;
  const nextAttemptAt = outcome === 'refused' ? null : instantIn(clock, waitMs);
  await mails.settleUnsent(claim, failure, nextAttemptAt);
  const fields = { ...subject, failure, nextAttemptAt };
  if (outcome === 'refused') alerts.raise('invitation_refused', fields, 'The mail server refused an invitation');
  else logger.warn(fields, 'An invitation could not be mailed yet');
}
