import { contractOperations } from './contract-operations.ts';
import { discardDeliveries, raiseEvent, requeue } from './deliveries.ts';
import type { EndpointRecord, InstallRecord, LinkRecord, MarketState } from './market-state.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';
import { showEndpoint, showInstall, showLink } from './shapes.ts';

/** One call, as it arrived and after the token was checked. */
export interface Call {
  state: MarketState;
  install: InstallRecord;
  /** The values of the placeholders of the path, in their order. */
  ids: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
}

export interface Operation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A placeholder is `{id}`. */
  path: string;
  /** One of them is enough; without any, every valid token is. */
  scopes: string[];
  status?: number;
  answer(call: Call): object;
}

const scopes = ['webhooks:manage'];

const eventTypes = new Set([
  'contract.started',
  'contract.ended',
  'project_link.created',
  'project_link.removed',
  'install.revoked',
  'milestone.funded',
  'milestone.budget_low',
  'milestone.budget_depleted',
]);

const endpointOperations: Operation[] = [
  { method: 'POST', path: '/webhook-endpoints', scopes, status: 201, answer: createEndpoint },
  {
    method: 'GET',
    path: '/webhook-endpoints',
    scopes,
    answer: ({ install }) => ({
      webhookEndpoints: [...install.endpoints.values()].map(showEndpoint),
    }),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/{id}',
    scopes,
    answer: (call) => ({ webhookEndpoint: showEndpoint(endpointOf(call)) }),
  },
  { method: 'PATCH', path: '/webhook-endpoints/{id}', scopes, answer: updateEndpoint },
  {
    method: 'DELETE',
    path: '/webhook-endpoints/{id}',
    scopes,
    answer(call) {
      const endpoint = endpointOf(call);
      call.install.endpoints.delete(endpoint.id);
      discardDeliveries(call.state, endpoint);
      return { webhookEndpoint: showEndpoint(endpoint), deleted: true };
    },
  },
  { method: 'POST', path: '/webhook-endpoints/{id}/redeliver', scopes, answer: redeliver },
];

function endpointOf({ install, ids: [id = ''] }: Call): EndpointRecord {
  return orNotFound(install.endpoints.get(id), 'Webhook endpoint');
}

function createEndpoint({ state, install, body }: Call): object {
  const [url, types] = [parseUrl(body['url']), parseTypes(body['eventTypes'])];
  if (install.endpoints.size >= (state.options.endpointsPerInstall ?? 10)) {
    throw new Refusal('CONFLICT', 'the install has as many endpoints as it may have');
  }
  const endpoint: EndpointRecord = {
    id: state.nextId('whe'),
    url,
    eventTypes: types,
    status: 'ACTIVE',
    createdAt: state.now(),
    consecutiveFailures: 0,
    disabledAt: null,
    disabledReason: null,
    secret: `whsec_${state.nextId('second')}`,
    deliveries: [],
  };
  install.endpoints.set(endpoint.id, endpoint);
  const message = 'Keep the secret: it is shown this once.';
  return { webhookEndpoint: showEndpoint(endpoint), secret: endpoint.secret, message };
}

function updateEndpoint(call: Call): object {
  const endpoint = endpointOf(call);
  const { url, eventTypes: types, status } = call.body;
  demand(status === undefined || status === 'ACTIVE' || status === 'DISABLED', 'status is unknown');
  // All of it is checked before any of it is done.
  const changed = {
    ...(url !== undefined && { url: parseUrl(url) }),
    ...(types !== undefined && { eventTypes: parseTypes(types) }),
  };
  Object.assign(endpoint, changed);
  if (status === 'ACTIVE') {
    const enabled = { consecutiveFailures: 0, disabledAt: null, disabledReason: null };
    Object.assign(endpoint, { status, ...enabled });
  } else if (status === 'DISABLED') {
    Object.assign(endpoint, { status, disabledAt: call.state.now(), disabledReason: 'by request' });
  }
  return { webhookEndpoint: showEndpoint(endpoint) };
}

function redeliver(call: Call): object {
  const endpoint = endpointOf(call);
  const { deliveryId } = call.body;
  demand(deliveryId === undefined || typeof deliveryId === 'string', 'deliveryId is not valid');
  const requeued = requeue(call.state, endpoint, deliveryId);
  if (deliveryId !== undefined && requeued === 0) orNotFound(undefined, 'Delivery');
  const message = 'Attempted within about 5 minutes, while the endpoint is ACTIVE.';
  return { webhookEndpoint: showEndpoint(endpoint), requeued, message };
}

function parseUrl(value: unknown): string {
  demand(typeof value === 'string' && URL.canParse(value), 'url is required');
  const { protocol, hostname } = new URL(value);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  demand(protocol === 'https:' || (protocol === 'http:' && isLocal), 'url must be https');
  return value;
}

function parseTypes(value: unknown): string[] {
  demand(Array.isArray(value) && value.length > 0, 'eventTypes names at least one');
  const types = value.map(String);
  demand(
    types.every((type) => eventTypes.has(type)),
    'eventTypes has an unknown one',
  );
  return types;
}

const write = ['project-links:write'];
const read = ['project-links:read', ...write];
const modes = ['PARTNER_WEBHOOK', 'MANAGED_ADAPTER'];

const linkOperations: Operation[] = [
  {
    method: 'GET',
    path: '/project-links',
    scopes: read,
    answer: ({ install }) => ({
      projectLinks: [...install.links.values()].reverse().map(showLink),
    }),
  },
  {
    method: 'GET',
    path: '/project-links/{id}',
    scopes: read,
    answer: (call) => ({ projectLink: showLink(linkOf(call)) }),
  },
  { method: 'POST', path: '/project-links', scopes: write, status: 201, answer: createLink },
  {
    method: 'DELETE',
    path: '/project-links/{id}',
    scopes: write,
    answer(call) {
      const link = linkOf(call);
      call.install.links.delete(link.id);
      tell(call, 'project_link.removed', link);
      return { projectLink: showLink(link), deleted: true };
    },
  },
];

function linkOf({ install, ids: [id = ''] }: Call): LinkRecord {
  return orNotFound(install.links.get(id), 'Project link');
}

function createLink(call: Call): object {
  const { state, install, body } = call;
  const externalProjectId = textOf(body, 'externalProjectId', 200);
  demand(externalProjectId !== null && externalProjectId !== '', 'externalProjectId is required');
  const provisioningMode = textOf(body, 'provisioningMode', 100) ?? 'PARTNER_WEBHOOK';
  demand(modes.includes(provisioningMode), 'provisioningMode is unknown');
  const link: LinkRecord = {
    id: state.nextId('lnk'),
    jobId: textOf(body, 'jobId', 200),
    externalProjectId,
    externalProjectName: textOf(body, 'externalProjectName', 300),
    externalProjectUrl: textOf(body, 'externalProjectUrl', 2048),
    provisioningMode,
    createdAt: state.now(),
  };
  if (link.jobId !== null) {
    const organizationId = state.jobs.get(link.jobId);
    orNotFound(organizationId === install.organizationId ? organizationId : undefined, 'Job');
  }
  const links = [...install.links.values()];
  if (links.some((other) => other.externalProjectId === externalProjectId)) {
    throw new Refusal('CONFLICT', 'externalProjectId is linked already');
  }
  if (links.length >= (state.options.linksPerInstall ?? 500)) {
    throw new Refusal('CONFLICT', 'the install has as many links as it may have');
  }
  install.links.set(link.id, link);
  tell(call, 'project_link.created', link);
  return { projectLink: showLink(link) };
}

function textOf(body: Call['body'], name: string, longest: number): string | null {
  const value = body[name] ?? null;
  if (value === null) return null;
  demand(typeof value === 'string' && value.length <= longest, `${name} is not valid`);
  return value;
}

function tell({ state, install }: Call, type: string, link: LinkRecord): void {
  const data = { projectLink: showLink(link) };
  raiseEvent(state, install, { type, resourceId: link.id, jobId: link.jobId, data });
}

/** All 15 of the specification. */
export const operations: Operation[] = [
  {
    method: 'GET',
    path: '/installs/current',
    scopes: [],
    answer: ({ install }) => ({ install: showInstall(install) }),
  },
  ...linkOperations,
  ...contractOperations,
  ...endpointOperations,
];
