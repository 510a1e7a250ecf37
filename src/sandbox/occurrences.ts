import { budgetOf } from './budget.ts';
import { toParticipant, toPublicContract, toPublicLink } from './public-shapes.ts';
import type { Occurrence } from './raise-events.ts';
import { type Contract, type Install, liveLinksOfJob, type ProjectLink, type SandboxState } from './sandbox-state.ts';

/** What each kind of happening tells whom. */

/** One per link on the job, with that link; the other participants are only in the listing. */
export function toContractOccurrences(
  state: SandboxState,
  type: 'contract.started' | 'contract.ended',
  contract: Contract,
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

/** Speaks of the contract's budget and names no link: one per install, however many links it has. */
export function toMilestoneOccurrences(
  state: SandboxState,
  type: 'milestone.funded' | 'milestone.budget_low' | 'milestone.budget_depleted',
  contract: Contract,
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
  install: Install,
  link: ProjectLink,
): Occurrence {
  const data = { projectLink: toPublicLink(link) };
  return { type, install, resourceId: link.id, jobId: link.jobId, data };
}

export function toRevokedOccurrence(install: Install): Occurrence {
  const data = { install: { id: install.id, status: install.status } };
  return { type: 'install.revoked', install, resourceId: install.id, jobId: null, data };
}
