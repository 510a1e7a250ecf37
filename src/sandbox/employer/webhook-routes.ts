import { isGranted } from '../../marketplace/contract/account.ts';
import { scopeOfEvent, updates, webhooks } from '../../marketplace/contract/events.ts';
import { type AccountCall, type CallOf, forAccount, type Route } from '../api-router.ts';
import { createEndpoint, deleteEndpoint } from '../delivery-rules.ts';
import { Refusal } from '../error-response.ts';
import { toPublicEndpoint } from '../public-shapes.ts';
import { endpointsOfInstall, type SandboxEndpoint } from '../sandbox-state.ts';
import { refuse } from './employer-route.ts';

const one = (endpoint: SandboxEndpoint) => ({ webhook: toRecord(endpoint) });

/** Webhooks and the feed (spec: part A sections 4.9 and 4.10). */
export const webhookRoutes: readonly Route[] = [
  forAccount(webhooks.list, ({ marketplace, account }) => ({
    webhooks: endpointsOfInstall(marketplace.state, account).map(toRecord),
  })),
  forAccount(webhooks.create, createWebhook),
  forAccount(webhooks.get, (call) => one(findWebhook(call, call.input.webhookId))),
  forAccount(webhooks.delete, (call) => {
    const endpoint = findWebhook(call, call.input.webhookId);
    deleteEndpoint(call.marketplace.state, endpoint);
    return one(endpoint);
  }),
  forAccount(updates.list, listUpdates),
];

function createWebhook({ marketplace, account, token, input }: CallOf<typeof webhooks.create>) {
  const { url, eventTypes } = input;
  const missing = [...new Set(eventTypes.map((type) => scopeOfEvent[type]))].filter(
    (scope) => !isGranted(token.scopes, scope),
  );
  if (missing.length > 0) {
    const details = { requiredScopes: missing, grantedScopes: token.scopes };
    throw new Refusal('forbidden', `The token lacks the scope ${missing.join(', ')}`, details);
  }
  const endpoint = createEndpoint(marketplace, account, 'employer', { url, eventTypes });
  const message = 'Store the secret now: it is not shown again.';
  return { ...one(endpoint), secret: endpoint.secret, message };
}

function findWebhook({ marketplace, account }: AccountCall, webhookId: string): SandboxEndpoint {
  const endpoint = marketplace.state.endpoints.get(webhookId);
  return endpoint?.installId === account.id ? endpoint : refuse('webhooks', { webhookId });
}

/** Without the number of failed deliveries. */
function toRecord(endpoint: SandboxEndpoint) {
  const { consecutiveFailures: _, ...record } = toPublicEndpoint(endpoint);
  return record;
}

/** Types that the token may not read are left out silently. */
function listUpdates({ account, token, input }: CallOf<typeof updates.list>) {
  const { cursor, limit = 50 } = input;
  if (cursor !== undefined && !/^\d+$/.test(cursor)) {
    throw new Refusal('invalid', 'cursor: must be the id of an event', { field: 'cursor' });
  }
  // From the end, because a feed may be long.
  const from = account.feed.findLastIndex(({ id }) => BigInt(id) <= BigInt(cursor ?? 0)) + 1;
  const found = account.feed.slice(from).filter(({ type }) => isGranted(token.scopes, scopeOfEvent[type]));
  const events = found.slice(0, limit);
  return { events, nextCursor: events.at(-1)?.id ?? cursor ?? null, hasMore: found.length > limit };
}
