import type { Evidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { Alerts } from '../lib/alerts.ts';
import { type Held, reasonOf } from './hold-evidence.ts';
import { isOutside, type RoutedInstalls } from './link-router.ts';

/** Tells an operator what evidence, once it is stored, means that they should know. */
export type ReportEvidence = (changed: Evidence, held: readonly Held[]) => void;

/** So many are remembered as told; an alert too much harms nobody. */
const maxTold = 10_000;

export function createReportEvidence(installs: RoutedInstalls, alerts: Alerts): ReportEvidence {
  const told = new Set<string>();

  /** Once for each contract or trainer, however much more is said of it. */
  function reportHeld(held: readonly Held[]): void {
    for (const one of held) {
      const { install, bound, contractId, trainerId } = one;
      const subject =
        bound === 'contracts_of_trainer' ? { trainer: trainerId } : { contract: contractId };
      const key = JSON.stringify([install, bound, subject]);
      if (told.has(key)) continue;
      if (told.size >= maxTold) told.clear();
      told.add(key);
      alerts.raise(
        'evidence_held',
        { install, ...subject, reason: reasonOf(one) },
        'An install says more of a contract or a trainer than is taken in: the rest is held',
      );
    }
  }

  return ({ links, contracts }, held) => {
    reportHeld(held);
    for (const link of links.filter((one) => isOutside(installs, one))) {
      const { install, linkId, externalProjectId } = link;
      alerts.raise(
        'link_outside',
        { install, link: linkId, project: externalProjectId },
        'A link is outside the projects of its install: it gives nobody access',
      );
    }
    for (const contract of contracts.filter((one) => statusOfContract(one) === 'disputed')) {
      const { install, contractId } = contract;
      alerts.raise(
        'contract_disputed',
        { install, contract: contractId },
        'A contract whose end was delivered is listed as active: its people keep access',
      );
    }
  };
}
