import { budgetOf } from './budget.ts';
import { toParticipant, toPublicContract, toPublicLink } from './public-shapes.ts';
import type { Occurrence } from './raise-events.ts';
import {
  liveLinksOfJob,
  type SandboxContract,
  type SandboxInstall,
  type SandboxLink,
  type SandboxState,
} from './sandbox-state.ts';

/** Which installs get which event, and what is in it. */

/** One per link of the job. It names the first trainer; the list of participants has the others. */
export function toContractOccurrences(
  state: SandboxState,
  type: 'contract.started' | 'contract.ended',
  contract: SandboxContract,
): Occurrence[] {
  const [trainer] = contract.participants;
  return liveLinksOfJob(state, contract.job).map(({ link, install }) => ({
    type,
    install,
    resourceId: contract.id,
    jobId: contract.job.id,
    data: {
      contract: toPublicContract(contract),
      freelancer: trainer ? toParticipant(install, trainer) : null,
      projectLink: toPublicLink(link),
    },
  }));
}

/** One per install with a link of the job, because these events name no link. */
export function toMilestoneOccurrences(
  state: SandboxState,
  type: 'milestone.funded' | 'milestone.budget_low' | 'milestone.budget_depleted',
  contract: SandboxContract,
): Occurrence[] {
  const budget = budgetOf(contract);
  const milestone = budget.activeMilestone;
  const installs = new Set(liveLinksOfJob(state, contract.job).map(({ install }) => install));
  return [...installs].map((install) => ({
    type,
    install,
    resourceId: milestone?.id ?? contract.id,
    jobId: contract.job.id,
    data: { contractId: contract.id, milestone, budget },
  }));
}

export function toLinkOccurrence(
  type: 'project_link.created' | 'project_link.removed',
  install: SandboxInstall,
  link: SandboxLink,
): Occurrence {
  const data = { projectLink: toPublicLink(link) };
  return { type, install, resourceId: link.id, jobId: link.jobId, data };
}

export function toRevokedOccurrence(install: SandboxInstall): Occurrence {
  const data = { install: { id: install.id, status: install.status } };
  return { type: 'install.revoked', install, resourceId: install.id, jobId: null, data };
}
