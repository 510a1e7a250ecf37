import { AppError } from '../domain/errors.ts';
import { webhookEndpoints } from '../marketplace/contract/platform.ts';
import { type CallOf, forInstall, type InstallCall, type Route } from './api-router.ts';
import * as rules from './delivery-rules.ts';
import { queueDelivery, wake } from './dispatcher.ts';
import { toPublicEndpoint } from './public-shapes.ts';
import { deliveriesOfEndpoint, endpointsOfInstall, type SandboxEndpoint } from './sandbox-state.ts';

const one = (endpoint: SandboxEndpoint) => ({ webhookEndpoint: toPublicEndpoint(endpoint) });

export const webhookEndpointRoutes: readonly Route[] = [
  forInstall(webhookEndpoints.list, ({ marketplace, install }) => ({
    webhookEndpoints: endpointsOfInstall(marketplace.state, install).reverse().map(toPublicEndpoint),
  })),
  forInstall(webhookEndpoints.create, postEndpoint),
  forInstall(webhookEndpoints.get, (call) => one(findEndpoint(call, call.input.endpointId))),
  forInstall(webhookEndpoints.update, updateEndpoint),
  forInstall(webhookEndpoints.delete, (call) => {
    const endpoint = findEndpoint(call, call.input.endpointId);
    rules.deleteEndpoint(call.marketplace.state, endpoint);
    return { ...one(endpoint), deleted: true };
  }),
  forInstall(webhookEndpoints.redeliver, redeliver),
];

function postEndpoint({ marketplace, install, input: wanted }: CallOf<typeof webhookEndpoints.create, InstallCall>) {
  const endpoint = rules.createEndpoint(marketplace, install, 'platform', wanted);
  return {
    ...one(endpoint),
    secret: endpoint.secret,
    message: 'Store the secret now: it is not shown again. Delivery begins with the next event.',
  };
}

function updateEndpoint(call: CallOf<typeof webhookEndpoints.update, InstallCall>) {
  const { marketplace, input } = call;
  const { endpointId, url, eventTypes, status } = input;
  const endpoint = findEndpoint(call, endpointId);
  endpoint.url = url ?? endpoint.url;
  endpoint.eventTypes = eventTypes ?? endpoint.eventTypes;
  if (status === 'ACTIVE') rules.enableEndpoint(endpoint);
  if (status === 'DISABLED' && endpoint.status === 'ACTIVE') {
    rules.disableEndpoint(marketplace.state, endpoint, 'Disabled by request', marketplace.now());
  }
  wake(marketplace);
  return one(endpoint);
}

function redeliver(call: CallOf<typeof webhookEndpoints.redeliver, InstallCall>) {
  const { marketplace } = call;
  const { endpointId, deliveryId } = call.input;
  const endpoint = findEndpoint(call, endpointId);
  const deliveries = deliveriesOfEndpoint(marketplace.state, endpoint).filter(({ id, status }) =>
    // A lost event was never sent, so it cannot be resent.
    deliveryId === undefined ? status === 'FAILED' : id === deliveryId && status !== 'LOST',
  );
  if (deliveryId !== undefined && deliveries.length === 0) {
    throw new AppError('not_found', 'This endpoint has no delivery with this id');
  }
  for (const delivery of deliveries) {
    rules.reopen(delivery);
    queueDelivery(marketplace, delivery, rules.redeliveryWaitMs);
  }
  return {
    ...one(endpoint),
    requeued: deliveries.length,
    message: 'Attempted within about 5 minutes, while the endpoint is ACTIVE.',
  };
}

function findEndpoint({ marketplace, install }: InstallCall, id: string): SandboxEndpoint {
  const endpoint = marketplace.state.endpoints.get(id);
  if (endpoint?.installId === install.id) return endpoint;
  throw new AppError('not_found', 'No webhook endpoint with this id');
}
