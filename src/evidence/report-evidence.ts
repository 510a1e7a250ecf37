import type { Context } from '../context.ts';
import type { Evidence, LinkEvidence } from '../domain/evidence.ts';
import { statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import { remembered } from '../lib/remembered.ts';
import { outsideOf, usageScopeOf } from '../memberships/wall.ts';
import { describeHold, type HeldEvidence } from './hold-evidence.ts';

/** How many reports are remembered. A repeated alert does no harm. */
const maxReported = 10_000;
const heldQuietMs = 3_600_000;

/** Raises alerts about stored evidence that an operator should know of. */
export function reportEvidence(ctx: Context, { links, contracts }: Evidence, held: readonly HeldEvidence[]): void {
  reportHeld(ctx, held);
  for (const link of links) reportLink(ctx, link);
  for (const contract of contracts.filter((one) => statusOfContract(one) === 'disputed')) {
    const { install, contractId } = contract;
    ctx.alerts.raise(
      'contract_disputed',
      { install, contract: contractId },
      'A contract was reported as ended, but is listed as active. Its people keep their access',
    );
  }
}

/** Raises one alert an hour for each contract or trainer, however often more evidence of it is held. */
function reportHeld({ database, alerts, clock }: Context, held: readonly HeldEvidence[]): void {
  const reported = remembered(database, 'when held evidence was reported', () => new Map<string, number>());
  for (const one of held) {
    const { install } = one;
    const subject = subjectOfHeld(one);
    const [key, now] = [JSON.stringify([install, subject]), clock.now().getTime()];
    if (Math.abs(now - (reported.get(key) ?? Number.NEGATIVE_INFINITY)) < heldQuietMs) continue;
    if (reported.size >= maxReported) reported.clear();
    reported.set(key, now);
    alerts.raise(
      'evidence_held',
      { install, ...subject, reason: describeHold(one) },
      'An install sends more than Gangway accepts, in total or about one contract or trainer. Gangway holds the rest',
    );
  }
}

/** The contract or the trainer that has more than is taken in. Empty where it is the install itself. */
export function subjectOfHeld({ bound, contractId, trainerId }: HeldEvidence): object {
  if (bound === 'hires_of_install') return {};
  return bound === 'contracts_of_trainer' ? { trainer: trainerId } : { contract: contractId };
}

function reportLink(ctx: Context, link: LinkEvidence): void {
  const { alerts } = ctx;
  // A link that is gone leads nowhere.
  if (isGone(link)) return;
  const { install, linkId, externalProjectId: project } = link;
  const tool = ctx.installs.get(install)?.tool;
  const reason = outsideOf(ctx, link);
  if (reason !== null) {
    const fields = { install, link: linkId, project, tool, reason };
    const says = 'A link is outside the projects of its install, or its mode is unknown, so it gives no access';
    alerts.raise('link_outside', fields, says);
    return;
  }
  const adapter = ctx.adapters.get(tool ?? '');
  if (project === null || adapter?.usageScopeFor === undefined) return;
  if (usageScopeOf(adapter, link) !== undefined) return;
  const says = 'The adapter has no scope for the work on a link, so no work is read';
  alerts.raise('usage_unread', { install, link: linkId, project, tool }, says);
}

function isGone(link: LinkEvidence): boolean {
  const status = statusOfLink(link);
  return status === 'removed' || status === 'absent';
}
