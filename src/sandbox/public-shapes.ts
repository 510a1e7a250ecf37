import {
  linksOfInstall,
  type SandboxContract,
  type SandboxEndpoint,
  type SandboxInstall,
  type SandboxLink,
  type SandboxState,
  type Trainer,
} from './sandbox-state.ts';

export function toPublicInstall({ token, ...install }: SandboxInstall) {
  return {
    ...install,
    partnerApp: { id: 'app_sandbox', slug: 'gangway-sandbox', name: 'Gangway sandbox' },
    token: { id: token.id, name: token.name, scopes: token.scopes },
  };
}

export function toPublicLink({ installId: _, ...link }: SandboxLink) {
  return link;
}

export function toPublicContract(contract: SandboxContract) {
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

export function toListedContract(state: SandboxState, install: SandboxInstall, contract: SandboxContract) {
  const links = linksOfInstall(state, install).filter(({ jobId }) => jobId === contract.job.id);
  return { ...toPublicContract(contract), projectLinkIds: links.map(({ id }) => id) };
}

/** Without the scope, the consent or an address, `workEmail` is absent, never null. */
export function toParticipant(install: SandboxInstall, { workEmail, ...trainer }: Trainer) {
  const mayShow = install.piiConsent && install.token.scopes.includes('participants:email');
  return mayShow && workEmail !== null ? { ...trainer, workEmail } : trainer;
}

export function toPublicEndpoint({ installId: _, audience: __, secret: ___, ...endpoint }: SandboxEndpoint) {
  return endpoint;
}
