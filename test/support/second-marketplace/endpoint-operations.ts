import { discardDeliveries, requeue } from './deliveries.ts';
import type { Call, Operation } from './operations.ts';
import type { EndpointRecord } from './records.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';
import { showEndpoint } from './shapes.ts';

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

export const endpointOperations: Operation[] = [
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
