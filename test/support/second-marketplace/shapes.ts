import type { BudgetRecord, ContractRecord, EndpointRecord, InstallRecord, LinkRecord, Person } from './records.ts';

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

export function showContract({ job, id, status, title, ...contract }: ContractRecord) {
  const { startDate, endDate, createdAt } = contract;
  return { id, status, jobId: job.id, title, startDate, endDate, createdAt };
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

export function showBudget({ id, budget }: ContractRecord) {
  const { paymentType, milestone, lastUsageAt } = budget;
  const consumed = consumedOf(budget);
  const fundedVolume = milestone?.volume ?? 0;
  const consumedVolume = volumeOf(budget);
  return {
    contractId: id,
    paymentType,
    state: budgetStateOf(budget),
    fundedVolume,
    fundedAmountUsd: milestone?.amountUsd ?? 0,
    consumed,
    consumedVolume,
    remainingVolume: Math.max(0, fundedVolume - consumedVolume),
    consumedFraction: fundedVolume === 0 ? 0 : consumedVolume / fundedVolume,
    activeMilestone: milestone,
    lastUsageAt,
  };
}

export function budgetStateOf(budget: BudgetRecord): BudgetRecord['announced'] {
  const { paymentType, milestone } = budget;
  if (paymentType === 'FIXED_PRICE' || milestone === null || milestone.volume === 0) return 'OK';
  const fraction = volumeOf(budget) / milestone.volume;
  if (fraction >= 1) return 'DEPLETED';
  return fraction >= 0.8 ? 'LOW' : 'OK';
}

function volumeOf(budget: BudgetRecord): number {
  const { hours, labels, tasks } = consumedOf(budget);
  if (budget.paymentType === 'PAY_PER_HOUR') return hours;
  return budget.paymentType === 'PAY_PER_LABEL' ? labels : tasks;
}

function consumedOf({ reported }: BudgetRecord) {
  const sum = { seconds: 0, labels: 0, tasks: 0 };
  for (const { totalSeconds, labelsCompleted, tasksCompleted } of reported.values()) {
    sum.seconds += totalSeconds;
    sum.labels += labelsCompleted;
    sum.tasks += tasksCompleted;
  }
  return { ...sum, hours: sum.seconds / 3600 };
}
