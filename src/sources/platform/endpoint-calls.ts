import type { Endpoint } from '../endpoint.ts';
import type { Call, Operation } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import type { Source } from '../source.ts';
import {
  CreatedEndpointAnswer,
  DeletedAnswer,
  RedeliverAnswer,
  WebhookEndpointAnswer,
  WebhookEndpointList,
} from './platform-schema.ts';

type EndpointCalls = Pick<
  Required<Source>,
  'listEndpoints' | 'readEndpoint' | 'createEndpoint' | 'updateEndpoint' | 'deleteEndpoint' | 'redeliver'
>;

export function createEndpointCalls(call: Call): EndpointCalls {
  return {
    async listEndpoints(signal) {
      const purpose = 'list the webhook endpoints';
      return await listWhole<Endpoint>({
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

    async readEndpoint(endpointId, signal) {
      const path = toPath(endpointId);
      const purpose = 'read a webhook endpoint';
      return (await call({ path, purpose, answer: WebhookEndpointAnswer }, signal)).webhookEndpoint;
    },

    async createEndpoint(wanted, signal) {
      const operation: Operation<CreatedEndpointAnswer> = {
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

    async updateEndpoint(endpointId, changes, signal) {
      const operation: Operation<WebhookEndpointAnswer> = {
        method: 'PATCH',
        path: toPath(endpointId),
        body: changes,
        purpose: 'update a webhook endpoint',
        answer: WebhookEndpointAnswer,
      };
      return (await call(operation, signal)).webhookEndpoint;
    },

    async deleteEndpoint(endpointId, signal) {
      const operation: Operation<DeletedAnswer> = {
        method: 'DELETE',
        path: toPath(endpointId),
        answer: DeletedAnswer,
        purpose: 'delete a webhook endpoint',
        doneBefore: { code: 'not_found', answer: () => ({ deleted: true }) },
      };
      await call(operation, signal);
    },

    async redeliver(endpointId, deliveryId, signal) {
      const operation: Operation<RedeliverAnswer> = {
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
