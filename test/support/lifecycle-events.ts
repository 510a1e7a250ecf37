/** What one event of the marketplace says of a contract; made from the specification. */
export interface ContractEvent {
  type: 'contract.started' | 'contract.ended';
  /** Events of different numbers are different events. */
  number: number;
  contract: string;
  trainer: string;
  project: string;
  /** The id of the link; one per project by default. */
  link?: string;
  /** One per project by default. */
  job?: string;
  createdAt: string;
}

/** Of a project, where an event names no other. */
export const linkOf = (project: string) => `link-${project}`;
export const jobOf = (project: string) => `job-${project}`;

/** Some minutes ago: an event over a month old gives no access, and these clocks are real. */
export function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}

/** The body of a delivery, as the marketplace sends it. */
export function toBody(event: ContractEvent): string {
  const { type, number, contract, trainer, project, createdAt, job = jobOf(project) } = event;
  return JSON.stringify({
    id: String(7_000_000_000 + number),
    type,
    apiVersion: 'v1',
    createdAt,
    resourceId: contract,
    jobId: job,
    data: {
      contract: {
        id: contract,
        status: type === 'contract.started' ? 'active' : 'ended',
        jobId: job,
        title: 'Street sign annotation',
      },
      freelancer: {
        opentrainUserId: trainer,
        displayName: 'Amara O.',
        workEmail: `${trainer}@opentrain.work`,
      },
      projectLink: {
        id: event.link ?? linkOf(project),
        jobId: job,
        externalProjectId: project,
        externalProjectName: null,
        provisioningMode: 'PARTNER_WEBHOOK',
      },
    },
  });
}
