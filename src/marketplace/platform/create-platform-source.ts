import { platformEventTypes } from '../../domain/event.ts';
import { type Client, type ClientOptions, createClient } from '../client.ts';
import { compareOpenapi } from '../compare-openapi.ts';
import { installs, platformContracts, platformOpenapi, projectLinks, webhookEndpoints } from '../contract/platform.ts';
import { ofPlatform } from '../relied-on.ts';
import type { Link, NeededScope, NewLink, Remedies, Source } from '../source.ts';

type Capability = 'createLink' | 'deleteLink' | 'reportUsage' | 'updateEndpoint' | 'redeliver';
export type PlatformSource = Source & Required<Pick<Source, Capability>>;

/** A platform that the customer has installed, with its token `ot_ptk_…` (spec: platform-api.md). */
export function createPlatformSource(options: ClientOptions): PlatformSource {
  const client = createClient(options);
  return {
    neededScopes,
    remedies,
    hasSilentEnds: false,
    readGrant: async (signal) => (await client.call(installs.current, {}, signal)).install,
    ...linkCalls(client),
    ...contractCalls(client),
    ...endpointCalls(client),
    findDeviations: async (signal) => compareOpenapi(await client.call(platformOpenapi.get, {}, signal), ofPlatform),
    clockDriftMs: client.clockDriftMs,
  };
}
/** If an attempt had no answer and the next finds nothing, the first deleted it. */
const doneBefore = { code: 'not_found', answer: () => undefined } as const;

function linkCalls({ call, listWhole }: Client) {
  const listLinks = async (signal: AbortSignal) => await listWhole(projectLinks.list, {}, signal);
  return {
    listLinks,
    readLink: async (linkId, signal) => (await call(projectLinks.get, { linkId }, signal)).projectLink,
    async createLink(wanted, signal) {
      async function findMade(refusal: Error) {
        const projectLink = (await listLinks(signal)).find((one) => isResultOf(one, wanted));
        if (projectLink === undefined) throw refusal;
        return { projectLink };
      }
      const made = { code: 'conflict', answer: findMade } as const;
      return (await call(projectLinks.create, { ...wanted }, signal, { doneBefore: made })).projectLink;
    },
    async deleteLink(linkId, signal) {
      await call(projectLinks.delete, { linkId }, signal, { doneBefore });
    },
  } satisfies Partial<Source>;
}

const limit = 200;

function contractCalls({ call, pages, listWhole }: Client) {
  return {
    async listContracts({ status, projectLinkId, wantsMore, keep }, signal) {
      const listing = { limit, wantsMore, keep };
      const input = { status, limit, projectLinkId };
      const { records: contracts, isComplete } = await pages(platformContracts.list, input, signal, listing);
      return { contracts, isComplete };
    },
    async listParticipants(contractId, signal) {
      const participants = await listWhole(platformContracts.participants, { contractId }, signal, {
        keyOf: ({ opentrainUserId }) => opentrainUserId,
        isAbout: (page) => (page.contractId ?? contractId) === contractId,
      });
      // Nothing else of a person is kept.
      return participants.map(({ opentrainUserId, displayName, workEmail }) => ({
        opentrainUserId,
        displayName,
        workEmail,
      }));
    },
    async readBudget(contractId, signal) {
      const isAbout = (budget: { contractId: string }) => budget.contractId === contractId;
      return await call(platformContracts.budget, { contractId }, signal, { isAbout });
    },
    async reportUsage(contractId, entries, signal, notes) {
      const isAbout = (answer: { contractId: string }) => answer.contractId === contractId;
      return await call(platformContracts.usage, { contractId, entries }, signal, { isAbout, notes });
    },
  } satisfies Partial<Source>;
}

function endpointCalls({ call, listWhole }: Client) {
  return {
    listEventTypes: async () => platformEventTypes,
    listEndpoints: async (signal) => await listWhole(webhookEndpoints.list, {}, signal),
    readEndpoint: async (endpointId, signal) =>
      (await call(webhookEndpoints.get, { endpointId }, signal)).webhookEndpoint,
    async createEndpoint(wanted, signal) {
      const { webhookEndpoint: endpoint, secret } = await call(webhookEndpoints.create, { ...wanted }, signal);
      return { endpoint, secret };
    },
    updateEndpoint: async (endpointId, changes, signal) =>
      (await call(webhookEndpoints.update, { ...changes, endpointId }, signal)).webhookEndpoint,
    async deleteEndpoint(endpointId, signal) {
      await call(webhookEndpoints.delete, { endpointId }, signal, { doneBefore });
    },
    redeliver: async (endpointId, deliveryId, signal) =>
      (await call(webhookEndpoints.redeliver, { endpointId, deliveryId }, signal)).requeued,
  } satisfies Partial<Source>;
}

/** Whether an existing link may be the result of this request. */
function isResultOf(link: Link, wanted: NewLink): boolean {
  const { externalProjectId, jobId = null, provisioningMode = 'PARTNER_WEBHOOK' } = wanted;
  return (
    link.externalProjectId === externalProjectId &&
    (link.jobId ?? null) === jobId &&
    link.provisioningMode === provisioningMode
  );
}

/** A platform gets its token and scopes from the customer. */
export const remedies: Remedies = {
  tokenRefused: (install) => `Ask the customer for a new token, then run gangway connect ${install}`,
  accessRefused:
    "Ask the customer, then the marketplace: the install, your app or the feature of the customer's account is not active",
  unreachable: 'Check marketplace.baseUrl, and that this machine can reach it',
  scopeMissing: 'Have the customer connect again and grant it',
  grantInactive: 'Ask the customer to reconnect. Otherwise their people are removed after a grace period',
  addressesUnshared:
    'Ask the customer to consent to sharing personal data, in the settings of the connection at the marketplace',
};

export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'project-links:read',
    without: 'Gangway cannot see which projects belong to which contracts',
    isVital: true,
    operations: ['listLinks', 'readLink'],
  },
  {
    scope: 'contracts:read',
    without: 'Gangway cannot notice missed webhooks, or read budgets',
    isVital: true,
    operations: ['listContracts', 'readBudget'],
  },
  {
    scope: 'participants:read',
    without: 'Gangway cannot see who is on a contract unless an event names them',
    isVital: true,
    operations: ['listParticipants'],
  },
  {
    scope: 'participants:email',
    without: 'no trainer has a work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'Gangway cannot see or repair the webhook endpoint',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'updateEndpoint', 'deleteEndpoint', 'redeliver'],
  },
  { scope: 'usage:write', without: 'work cannot be reported', isVital: false, operations: ['reportUsage'] },
];
