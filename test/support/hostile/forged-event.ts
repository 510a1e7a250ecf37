/** What the hostile customer says happened; the words are its own. */
export interface Forged {
  type: string;
  contract?: string;
  trainer?: string;
  email?: string | null;
  project?: string;
  /** The id of the link; one per project by default. */
  link?: string;
  name?: string;
  title?: string;
  resourceId?: string;
  /** How many bytes of nothing are added. */
  fillerBytes?: number;
}

/** @param number events of greater numbers count as later */
export function toForgedBody(forged: Forged, number: number, createdAt: string): string {
  const { type, contract, trainer, email, project, fillerBytes = 0 } = forged;
  const link = forged.link ?? `lnk-${project}`;
  return JSON.stringify({
    id: String(9_000_000_000 + number),
    type,
    apiVersion: 'v1',
    createdAt,
    resourceId: forged.resourceId ?? contract ?? link,
    data: {
      ...(contract !== undefined && {
        contract: {
          id: contract,
          status: type === 'contract.ended' ? 'ended' : 'active',
          jobId: 'job-x',
          title: forged.title ?? 'Work',
        },
      }),
      ...(trainer !== undefined && {
        freelancer: {
          opentrainUserId: trainer,
          displayName: forged.name ?? 'Amara O.',
          country: 'PT',
          ...(email !== null && { workEmail: email }),
        },
      }),
      ...(project !== undefined && {
        projectLink: {
          id: link,
          jobId: 'job-x',
          externalProjectId: project,
          externalProjectName: forged.title ?? null,
          provisioningMode: 'PARTNER_WEBHOOK',
        },
      }),
      ...(fillerBytes > 0 && { filler: 'x'.repeat(fillerBytes) }),
    },
  });
}

/** For people who read why a test failed. */
export function describeForged({ type, contract, trainer, email, project }: Forged): string {
  return JSON.stringify({ type, contract, trainer, email, project });
}
