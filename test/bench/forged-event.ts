/** What the hostile customer says happened. */
export interface Forged {
  type: string;
  contract: string;
  trainer?: string;
  email?: string;
  project?: string;
}

/** @param number events of greater numbers count as later */
export function toForgedBody(forged: Forged, number: number, createdAt: string): string {
  const { type, contract, trainer, email, project } = forged;
  return JSON.stringify({
    id: String(9_000_000_000 + number),
    type,
    apiVersion: 'v1',
    createdAt,
    resourceId: contract,
    data: {
      contract: { id: contract, status: 'active', jobId: 'job-x', title: 'Work' },
      ...(trainer !== undefined && {
        freelancer: { opentrainUserId: trainer, displayName: 'Amara O.', country: 'PT', workEmail: email },
      }),
      ...(project !== undefined && {
        projectLink: {
          id: `lnk-${project}`,
          jobId: 'job-x',
          externalProjectId: project,
          externalProjectName: null,
          provisioningMode: 'PARTNER_WEBHOOK',
        },
      }),
    },
  });
}
