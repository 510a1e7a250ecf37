import type { NewDelivery } from '../../src/domain/delivery.ts';

export const workEmail = 'amara.o@opentrain.work';

/** A `contract.started` as the marketplace sends it; each number is another event. */
export function contractStarted(number = 1): string {
  const contractId = `cmc${number}`;
  return JSON.stringify({
    id: String(7_000_000_000 + number),
    type: 'contract.started',
    apiVersion: 'v1',
    createdAt: '2026-03-15T11:59:58.000Z',
    resourceId: contractId,
    jobId: 'cmj1',
    data: {
      contract: { id: contractId, status: 'active', title: 'Straßenschilder — “Runde 2” 🚦' },
      freelancer: { opentrainUserId: 'cmu1', displayName: 'Amara O.', workEmail },
      projectLink: { id: 'cml1', externalProjectId: 'street-signs' },
    },
  });
}

/** A delivery as the receiver hands it to the inbox. */
export function newDelivery(body: string | Uint8Array, changes: Partial<NewDelivery> = {}): NewDelivery {
  return {
    install: 'acme',
    body: Buffer.from(body),
    headers: JSON.stringify({ 'user-agent': 'OpenTrain-Partner-Webhooks/1.0' }),
    deliveryId: null,
    receivedAt: '2026-03-15T12:00:00.000Z',
    ...changes,
  };
}

export function contractsStarted(count: number, first = 1): NewDelivery[] {
  return Array.from({ length: count }, (_, index) => newDelivery(contractStarted(first + index)));
}
