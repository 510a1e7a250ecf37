import { budgetOf } from './budget.ts';
import type { SandboxAccount } from './employer/account.ts';
import { toRecord } from './employer/account-routes.ts';
import { toRecord as toProposal } from './employer/hiring-routes.ts';
import type { Marketplace } from './marketplace.ts';
import { toPublicContract, toPublicInstall } from './public-shapes.ts';
import type { Delivery, SandboxContract } from './sandbox-state.ts';

/** The state of the marketplace, without tokens and secrets. */
export function takeSnapshot({ state, dice }: Marketplace) {
  return structuredClone({
    installs: [...state.installs.values()].map(toPublicInstall),
    accounts: [...state.accounts.values()].map(toPublicAccount),
    jobs: [...state.jobs.values()],
    projectLinks: [...state.links.values()],
    proposals: [...state.proposals.values()].map(toProposal),
    contracts: [...state.contracts.values()].map((contract) => ({
      ...toPublicContract(contract),
      participants: contract.participants,
      budget: budgetOf(contract),
      usage: toDays(contract),
    })),
    webhookEndpoints: [...state.endpoints.values()].map(({ audience: _, secret: __, ...endpoint }) => endpoint),
    faults: { ...dice.faultsInForce(), happened: dice.listHappened() },
  });
}

/** Its jobs and contracts are in the lists of all jobs and contracts, with its id as their organization. */
function toPublicAccount(account: SandboxAccount) {
  const { id, ownerUserId, isClaimed, hasCard, hasTeam, featuresOff, approvals, topUps, payments } = account;
  const tokens = account.tokens.map((token) => ({ ...toRecord(account, token), refused: token.refused }));
  const switches = { isClaimed, hasCard, hasTeam, featuresOff: [...featuresOff] };
  const { attachmentReads } = account;
  return { id, ownerUserId, ...switches, tokens, approvals, topUps, attachmentReads, pendingPayments: payments };
}

/** The reported totals, the earliest day first. */
function toDays({ usage }: SandboxContract) {
  const days = [...usage].map(([key, totals]) => {
    const space = key.lastIndexOf(' ');
    const workDate = key.slice(space + 1);
    return { workDate, workerOpentrainUserId: key.slice(0, space), ...totals };
  });
  return days.sort((a, b) => (a.workDate < b.workDate ? -1 : 1));
}

/** Oldest first, with their attempts and faults. */
export function takeDeliverySnapshots({ state, dice }: Marketplace) {
  const faults = Map.groupBy(dice.listHappened(), ({ deliveryId }) => deliveryId);
  return [...state.deliveries.values()].map((delivery) => ({
    ...toListedDelivery(delivery),
    faults: (faults.get(delivery.id) ?? []).map(({ fault }) => fault),
  }));
}

function toListedDelivery({ endpoint, number: _, dueAtMs: __, repeatAfterMs: ___, ...delivery }: Delivery) {
  return structuredClone({ ...delivery, endpointId: endpoint.id, installId: endpoint.installId });
}
