import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  redeliveryWaitMs,
  reopen,
} from './delivery-rules.ts';
import { queueDelivery, wake } from './dispatcher.ts';
import { CreatedEndpoint, DeletedEndpoint, Endpoints, OneEndpoint, Redelivery } from './platform-answer-schema.ts';
import { CreateWebhookEndpoint, parseRequest, Redeliver, UpdateWebhookEndpoint } from './platform-request-schema.ts';
import type { PlatformCall, PlatformRoute } from './platform-route.ts';
import { toPublicEndpoint } from './public-shapes.ts';
import { deliveriesOfEndpoint, endpointsOfInstall, type SandboxEndpoint } from './sandbox-state.ts';

const scopes = ['webhooks:manage'];
const one = (endpoint: SandboxEndpoint) => ({ webhookEndpoint: toPublicEndpoint(endpoint) });

export const webhookEndpointRoutes: PlatformRoute[] = [
  { operation: 'GET /webhook-endpoints', scopes, answer: Endpoints, run: listEndpoints },
  {
    operation: 'POST /webhook-endpoints',
    scopes,
    body: CreateWebhookEndpoint,
    status: 201,
    answer: CreatedEndpoint,
    refusals: [409],
    run: postEndpoint,
  },
  {
    operation: 'GET /webhook-endpoints/{id}',
    scopes,
    answer: OneEndpoint,
    run: (call) => one(findEndpoint(call)),
  },
  {
    operation: 'PATCH /webhook-endpoints/{id}',
    scopes,
    body: UpdateWebhookEndpoint,
    answer: OneEndpoint,
    run: updateEndpoint,
  },
  {
    operation: 'DELETE /webhook-endpoints/{id}',
    scopes,
    answer: DeletedEndpoint,
    run: removeEndpoint,
  },
  {
    operation: 'POST /webhook-endpoints/{id}/redeliver',
    scopes,
    body: Redeliver,
    answer: Redelivery,
    run: redeliver,
  },
];

function postEndpoint({ marketplace, install, body }: PlatformCall) {
  const wanted = parseRequest(CreateWebhookEndpoint, body);
  const limit = marketplace.options.endpointsPerInstall ?? 10;
  if (endpointsOfInstall(marketplace.state, install).length >= limit) {
    throw new AppError('conflict', `The install has ${limit} endpoints, which is the limit`);
  }
  const endpoint = createEndpoint(marketplace, install, 'platform', wanted);
  return {
    ...one(endpoint),
    secret: endpoint.secret,
    message: 'Store the secret now: it is not shown again. Delivery begins with the next event.',
  };
}

function listEndpoints({ marketplace, install }: PlatformCall) {
  const endpoints = endpointsOfInstall(marketplace.state, install).reverse();
  return { webhookEndpoints: endpoints.map(toPublicEndpoint) };
}

function updateEndpoint(call: PlatformCall) {
  const { marketplace, body } = call;
  const endpoint = findEndpoint(call);
  const { url, eventTypes, status } = parseRequest(UpdateWebhookEndpoint, body);
  endpoint.url = url ?? endpoint.url;
  endpoint.eventTypes = eventTypes ?? endpoint.eventTypes;
  if (status === 'ACTIVE') enableEndpoint(endpoint);
  if (status === 'DISABLED' && endpoint.status === 'ACTIVE') {
    disableEndpoint(marketplace.state, endpoint, 'Disabled by request', toInstant(marketplace.clock.now()));
  }
  wake(marketplace);
  return one(endpoint);
}

function removeEndpoint(call: PlatformCall) {
  const endpoint = findEndpoint(call);
  deleteEndpoint(call.marketplace.state, endpoint);
  return { ...one(endpoint), deleted: true };
}

function redeliver(call: PlatformCall) {
  const { marketplace, body } = call;
  const endpoint = findEndpoint(call);
  const { deliveryId } = parseRequest(Redeliver, body ?? {});
  const deliveries = deliveriesOfEndpoint(marketplace.state, endpoint).filter(({ id, status }) =>
    // A lost event was never sent, so it cannot be resent.
    deliveryId === undefined ? status === 'FAILED' : id === deliveryId && status !== 'LOST',
  );
  if (deliveryId !== undefined && deliveries.length === 0) {
    throw new AppError('not_found', 'This endpoint has no delivery with this id');
  }
  for (const delivery of deliveries) {
    reopen(delivery);
    queueDelivery(marketplace, delivery, redeliveryWaitMs);
  }
  return {
    ...one(endpoint),
    requeued: deliveries.length,
    message: 'Attempted within about 5 minutes, while the endpoint is ACTIVE.',
  };
}

function findEndpoint({ marketplace, install, id }: PlatformCall): SandboxEndpoint {
  const endpoint = marketplace.state.endpoints.get(id);
  if (endpoint?.installId !== install.id) {
    throw new AppError('not_found', 'No webhook endpoint with this id');
  }
  return endpoint;
}
