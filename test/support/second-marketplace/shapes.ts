import type { ContractRecord, EndpointRecord, InstallRecord, LinkRecord, Person } from './market-state.ts';

/** Records as the API and the events show them (spec: platform-api.md, sections 2 to 6). */

export function showInstall({ token, ...install }: InstallRecord) {
  const { id, status, scopes, piiConsent, organizationId, createdAt } = install;
  return {
    id,
    status,
    scopes,
    piiConsent,
    organizationId,
    createdAt,
    partnerApp: { id: 'app-2', slug: 'gangway', name: 'Gangway' },
    token: { id: token.id, name: token.name, scopes },
  };
}

export function showLink(link: LinkRecord) {
  return { ...link };
}

export function showContract({ id, status, jobId, title, startDate, endDate, createdAt }: ContractRecord) {
  return { id, status, jobId, title, startDate, endDate, createdAt };
}

/** The address only with the scope and with the customer's consent; else there is no such field. */
export function showPerson(person: Person, { scopes, piiConsent }: InstallRecord) {
  const { workEmail, ...others } = person;
  const isShown = piiConsent && scopes.includes('participants:email');
  return { ...others, ...(isShown && { workEmail }) };
}

export function showEndpoint(endpoint: EndpointRecord) {
  const { secret: _, deliveries: __, ...shown } = endpoint;
  return shown;
}

/** Nothing is ever funded here. */
export function showBudget({ id, reported, lastUsageAt }: ContractRecord) {
  const consumed = { seconds: 0, labels: 0, tasks: 0 };
  for (const { totalSeconds, labelsCompleted, tasksCompleted } of reported.values()) {
    consumed.seconds += totalSeconds;
    consumed.labels += labelsCompleted;
    consumed.tasks += tasksCompleted;
  }
  return {
    contractId: id,
    paymentType: null,
    state: 'OK',
    fundedVolume: 0,
    fundedAmountUsd: 0,
    consumed: { ...consumed, hours: consumed.seconds / 3600 },
    consumedVolume: consumed.tasks,
    remainingVolume: 0,
    consumedFraction: 0,
    activeMilestone: null,
    lastUsageAt,
  };
}
