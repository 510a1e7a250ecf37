import type { Evidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { Alerts } from '../lib/alerts.ts';
import { isOutside, type RoutedInstalls } from './link-router.ts';

/** Tells an operator what evidence, once it is stored, means that they should know. */
export type ReportEvidence = (changed: Evidence) => void;

export function createReportEvidence(installs: RoutedInstalls, alerts: Alerts): ReportEvidence {
  return ({ links, contracts }) => {
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
