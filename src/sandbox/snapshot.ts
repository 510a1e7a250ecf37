import { budgetOf } from './budget.ts';
import type { Marketplace } from './marketplace.ts';
import { toPublicContract, toPublicEndpoint, toPublicInstall } from './public-shapes.ts';
import type { Delivery } from './sandbox-state.ts';

/** The whole marketplace as the person at the controls sees it: no token and no secret. */
export type Snapshot = ReturnType<typeof takeSnapshot>;

export type ListedDelivery = ReturnType<typeof listDeliveries>[number];

export function takeSnapshot({ state }: Marketplace) {
  return structuredClone({
    installs: [...state.installs.values()].map(toPublicInstall),
    jobs: [...state.jobs.values()],
    projectLinks: [...state.links.values()],
    contracts: [...state.contracts.values()].map((contract) => ({
      ...toPublicContract(contract),
      participants: contract.participants,
      budget: budgetOf(contract),
    })),
    webhookEndpoints: [...state.endpoints.values()].map((endpoint) => ({
      installId: endpoint.installId,
      ...toPublicEndpoint(endpoint),
    })),
  });
}

/** Oldest first, with every attempt that was made. */
export function listDeliveries({ state }: Marketplace) {
  return [...state.deliveries.values()].map(toListedDelivery);
}

function toListedDelivery({ endpoint, dueAtMs: _, ...delivery }: Delivery) {
  return structuredClone({ ...delivery, endpointId: endpoint.id, installId: endpoint.installId });
}
