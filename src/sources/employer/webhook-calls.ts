import type { Endpoint } from '../endpoint.ts';
import type { Call, Operation } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import type { Source } from '../source.ts';
import {
  CreatedWebhookAnswer as CreatedWebhook,
  type CreatedWebhookAnswer,
  DeletedWebhookAnswer,
  type Webhook,
  WebhookAnswer,
  WebhookList,
} from './employer-schema.ts';

type WebhookCalls = Pick<Source, 'listEndpoints' | 'readEndpoint' | 'createEndpoint' | 'deleteEndpoint'>;

/** Webhooks of an account (spec: part A section 4.9). One cannot be changed, and sends nothing again. */
export function createWebhookCalls(call: Call): WebhookCalls {
  return {
    async listEndpoints(signal) {
      const purpose = 'list the webhooks';
      return await listWhole<Endpoint>({
        path: '/webhooks',
        purpose,
        keyOf: ({ id }) => id,
        async readPage(path) {
          const { webhooks, ...paging } = await call({ path, purpose, answer: WebhookList }, signal);
          return { records: webhooks.map(toEndpoint), ...paging };
        },
      });
    },

    async readEndpoint(endpointId, signal) {
      const operation = { path: toPath(endpointId), purpose: 'read a webhook', answer: WebhookAnswer };
      return toEndpoint((await call(operation, signal)).webhook);
    },

    async createEndpoint(wanted, signal) {
      const operation: Operation<CreatedWebhookAnswer> = {
        method: 'POST',
        path: '/webhooks',
        body: wanted,
        isSentOnce: true,
        purpose: 'create a webhook',
        answer: CreatedWebhook,
      };
      const { webhook, secret } = await call(operation, signal);
      return { endpoint: toEndpoint(webhook), secret };
    },

    async deleteEndpoint(endpointId, signal) {
      const operation: Operation<unknown> = {
        method: 'DELETE',
        path: toPath(endpointId),
        answer: DeletedWebhookAnswer,
        purpose: 'delete a webhook',
        doneBefore: { code: 'not_found', answer: () => undefined },
      };
      await call(operation, signal);
    },
  };
}

/** How often deliveries failed is not said. */
function toEndpoint(webhook: Webhook): Endpoint {
  return { ...webhook, consecutiveFailures: null };
}

function toPath(endpointId: string): string {
  return `/webhooks/${toSegment(endpointId)}`;
}
