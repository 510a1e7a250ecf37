/** Events as the marketplace sends them (spec: platform-api.md section 6), full or as part B has them. */

export interface EventWish {
  type: string;
  id?: string;
  createdAt?: string;
  contract?: string;
  trainer?: string;
  displayName?: string;
  /** Null: the address is not shared. */
  workEmail?: string | null;
  link?: string;
  /** Of the contract and the link. */
  job?: string;
  project?: string;
  provisioningMode?: string;
  /** When the contract began; left out where no source says it. */
  startDate?: string;
}

/** A full event with default values. */
export function fullEvent({
  type,
  id = '7000000001',
  createdAt = '2026-03-15T11:59:58.000Z',
  contract = 'cmc1',
  trainer = 'cmu1',
  displayName = 'Amara O.',
  workEmail = `${trainer}@opentrain.work`,
  link = 'cml1',
  job = 'cmj1',
  project = 'street-signs',
  provisioningMode = 'PARTNER_WEBHOOK',
  startDate,
}: EventWish): string {
  const isAboutContract = type.startsWith('contract.');
  const status = type === 'contract.ended' ? 'ended' : 'active';
  const email = workEmail === null ? {} : { workEmail };
  return JSON.stringify({
    id,
    type,
    apiVersion: 'v1',
    createdAt,
    resourceId: isAboutContract ? contract : link,
    jobId: job,
    data: {
      ...(isAboutContract && {
        contract: { id: contract, status, jobId: job, title: 'Street signs', startDate },
        freelancer: { opentrainUserId: trainer, displayName, country: 'PT', ...email },
      }),
      projectLink: {
        id: link,
        jobId: job,
        externalProjectId: project,
        externalProjectName: 'Street signs',
        provisioningMode,
      },
    },
  });
}

/** No more than part B guarantees. */
export function minimalEvent(type: string, contract: string): string {
  return JSON.stringify({
    type,
    resourceId: contract,
    data: {
      contract: { id: contract },
      freelancer: { workEmail: 'amara.o@opentrain.work', displayName: 'Amara O.' },
    },
  });
}
