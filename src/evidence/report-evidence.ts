import type { Evidence, LinkEvidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { Alerts } from '../lib/alerts.ts';
import { outsideOf, usageScopeOf, type Walls } from '../memberships/wall.ts';
import { describeHold, type HeldEvidence } from './hold-evidence.ts';

/** Raises alerts about stored evidence that an operator should know of. */
export type ReportEvidence = (changed: Evidence, held: readonly HeldEvidence[]) => void;

/** How many reports are remembered. A repeated alert does no harm. */
const maxReported = 10_000;

export function createReportEvidence(walls: Walls, alerts: Alerts): ReportEvidence {
  const reported = new Set<string>();

  /** Raises one alert for each contract or trainer, however often more evidence of it is held. */
  function reportHeld(held: readonly HeldEvidence[]): void {
    for (const one of held) {
      const { install, bound, contractId, trainerId } = one;
      const subject = bound === 'contracts_of_trainer' ? { trainer: trainerId } : { contract: contractId };
      const key = JSON.stringify([install, bound, subject]);
      if (reported.has(key)) continue;
      if (reported.size >= maxReported) reported.clear();
      reported.add(key);
      alerts.raise(
        'evidence_held',
        { install, ...subject, reason: describeHold(one) },
        'An install says more about a contract or a trainer than Gangway takes in: the rest is held',
      );
    }
  }

  return ({ links, contracts }, held) => {
    reportHeld(held);
    for (const link of links) reportLink(walls, alerts, link);
    for (const contract of contracts.filter((one) => statusOfContract(one) === 'disputed')) {
      const { install, contractId } = contract;
      alerts.raise(
        'contract_disputed',
        { install, contract: contractId },
        'A contract is listed as active although its end was delivered: its trainers keep access',
      );
    }
  };
}

function reportLink(walls: Walls, alerts: Alerts, link: LinkEvidence): void {
  const { install, linkId, externalProjectId: project } = link;
  const tool = walls.installs.get(install)?.tool;
  const reason = outsideOf(walls, link);
  if (reason !== null) {
    const fields = { install, link: linkId, project, tool, reason };
    const says = 'A link is outside the projects of its install, or its mode is unknown: it gives no access';
    alerts.raise('link_outside', fields, says);
    return;
  }
  const adapter = walls.adapters.get(tool ?? '');
  if (project === null || adapter?.usageScopeFor === undefined) return;
  if (usageScopeOf(adapter, link) !== undefined) return;
  const says = 'The adapter has no scope for the work on a link: no work is read';
  alerts.raise('usage_unread', { install, link: linkId, project, tool }, says);
}
