import type { Contract, Install, ProjectLink, SandboxState, Trainer, WebhookEndpoint } from './sandbox-state.ts';
import { linksOfInstall } from './sandbox-state.ts';

/** The marketplace's records as a platform sees them, in answers and in events alike. */

export function toPublicInstall(install: Install) {
  const { token } = install;
  return {
    id: install.id,
    status: install.status,
    scopes: install.scopes,
    piiConsent: install.piiConsent,
    organizationId: install.organizationId,
    createdAt: install.createdAt,
    partnerApp: { id: 'app_sandbox', slug: 'gangway-sandbox', name: 'Gangway sandbox' },
    token: { id: token.id, name: token.name, scopes: token.scopes },
  };
}

export function toPublicLink({ installId: _, ...link }: ProjectLink) {
  return link;
}

export function toPublicContract(contract: Contract) {
  return {
    id: contract.id,
    status: contract.status,
    jobId: contract.job.id,
    title: contract.title,
    startDate: contract.startDate,
    endDate: contract.endDate,
    createdAt: contract.createdAt,
  };
}

export function toListedContract(state: SandboxState, install: Install, contract: Contract) {
  const links = linksOfInstall(state, install).filter(({ jobId }) => jobId === contract.job.id);
  return { ...toPublicContract(contract), projectLinkIds: links.map(({ id }) => id) };
}

/** Without the scope, the consent or an address, the field is absent: not null, not an error. */
export function toParticipant(install: Install, { workEmail, ...trainer }: Trainer) {
  const mayShow = install.piiConsent && install.token.scopes.includes('participants:email');
  return mayShow && workEmail !== null ? { ...trainer, workEmail } : trainer;
}

export function toPublicEndpoint({ installId: _, secret: __, ...endpoint }: WebhookEndpoint) {
  return endpoint;
}
