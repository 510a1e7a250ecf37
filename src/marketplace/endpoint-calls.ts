import { toSegment } from './id-segment.ts';
import { listWhole } from './list-whole.ts';
import type { PlatformApi } from './platform-api.ts';
import type { CallPlatform, PlatformOperation } from './platform-caller.ts';
import {
  CreatedEndpointAnswer,
  DeletedAnswer,
  RedeliverAnswer,
  type WebhookEndpoint,
  WebhookEndpointAnswer,
  WebhookEndpointList,
} from './platform-schema.ts';

type EndpointCalls = Pick<
  PlatformApi,
  | 'listWebhookEndpoints'
  | 'getWebhookEndpoint'
  | 'createWebhookEndpoint'
  | 'updateWebhookEndpoint'
  | 'deleteWebhookEndpoint'
  | 'redeliver'
>;

export function createEndpointCalls(call: CallPlatform): EndpointCalls {
  return {
    async listWebhookEndpoints(signal) {
      const purpose = 'list the webhook endpoints';
      return await listWhole<WebhookEndpoint>({
        path: '/webhook-endpoints',
        purpose,
        keyOf: ({ id }) => id,
        async readPage(path) {
          const operation = { path, purpose, answer: WebhookEndpointList };
          const { webhookEndpoints, ...paging } = await call(operation, signal);
          return { records: webhookEndpoints, ...paging };
        },
      });
    },

    async getWebhookEndpoint(endpointId, signal) {
      const path = toPath(endpointId);
      const purpose = 'read a webhook endpoint';
      return (await call({ path, purpose, answer: WebhookEndpointAnswer }, signal)).webhookEndpoint;
    },

    async createWebhookEndpoint(wanted, signal) {
      const operation: PlatformOperation<CreatedEndpointAnswer> = {
        method: 'POST',
        path: '/webhook-endpoints',
        body: wanted,
        isSentOnce: true,
        purpose: 'create a webhook endpoint',
        answer: CreatedEndpointAnswer,
      };
      const { webhookEndpoint, secret } = await call(operation, signal);
      return { endpoint: webhookEndpoint, secret };
    },

    async updateWebhookEndpoint(endpointId, changes, signal) {
      const operation: PlatformOperation<WebhookEndpointAnswer> = {
        method: 'PATCH',
        path: toPath(endpointId),
        body: changes,
        purpose: 'update a webhook endpoint',
        answer: WebhookEndpointAnswer,
      };
      return (await call(operation, signal)).webhookEndpoint;
    },

    async deleteWebhookEndpoint(endpointId, signal) {
      const operation: PlatformOperation<DeletedAnswer> = {
        method: 'DELETE',
        path: toPath(endpointId),
        answer: DeletedAnswer,
        purpose: 'delete a webhook endpoint',
        doneBefore: { code: 'not_found', answer: () => ({ deleted: true }) },
      };
      await call(operation, signal);
    },

    async redeliver(endpointId, deliveryId, signal) {
      const operation: PlatformOperation<RedeliverAnswer> = {
        method: 'POST',
        path: `${toPath(endpointId)}/redeliver`,
        answer: RedeliverAnswer,
        body: { deliveryId },
        purpose: 'ask for deliveries to be sent again',
      };
      return (await call(operation, signal)).requeued;
    },
  };
}

function toPath(endpointId: string): string {
  return `/webhook-endpoints/${toSegment(endpointId)}`;
}
