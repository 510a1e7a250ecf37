import { isGranted } from '../api-router.ts';
import { createEndpoint, deleteEndpoint } from '../delivery-rules.ts';
import { Refusal } from '../error-response.ts';
import { endpointsOfInstall, type SandboxEndpoint } from '../sandbox-state.ts';
import {
  CreatedWebhook,
  employerEventTypes,
  type FeedEvent,
  OneWebhook,
  scopeOfEvent,
  Updates,
  Webhooks,
} from './employer-answer-schema.ts';
import { NewWebhook, UpdatesQuery } from './employer-request-schema.ts';
import { type EmployerCall, type EmployerRoute, parseFields } from './employer-route.ts';

const needs = { scopes: ['webhooks:manage'], feature: 'public_api_webhooks' } as const;
const one = (endpoint: SandboxEndpoint) => ({ webhook: toRecord(endpoint) });

/** Webhooks and the feed (spec: part A sections 4.9 and 4.10). */
export const webhookRoutes: readonly EmployerRoute[] = [
  {
    operation: 'POST /webhooks',
    ...needs,
    body: NewWebhook,
    status: 201,
    answer: CreatedWebhook,
    run: createWebhook,
  },
  { operation: 'GET /webhooks', ...needs, answer: Webhooks, run: listWebhooks },
  { operation: 'GET /webhooks/{id}', ...needs, answer: OneWebhook, run: (call) => one(findWebhook(call)) },
  { operation: 'DELETE /webhooks/{id}', ...needs, answer: OneWebhook, run: deleteWebhook },
  {
    operation: 'GET /updates',
    scopes: ['proposals:read', 'messages:read', 'payments:read'],
    query: UpdatesQuery,
    answer: Updates,
    run: listUpdates,
  },
];

const webhooksPerAccount = 10;

function createWebhook({ marketplace, account, token, body }: EmployerCall) {
  const { url, eventTypes } = parseFields(NewWebhook, body, {
    eventTypes: { supportedEventTypes: employerEventTypes },
  });
  const missing = [...new Set(eventTypes.map((type) => scopeOfEvent[type]))].filter(
    (scope) => !isGranted(token.scopes, scope),
  );
  if (missing.length > 0) {
    const details = { requiredScopes: missing, grantedScopes: token.scopes };
    throw new Refusal('forbidden', `The token lacks the scope ${missing.join(', ')}`, details);
  }
  if (endpointsOfInstall(marketplace.state, account).length >= webhooksPerAccount) {
    throw new Refusal('conflict', `The account has ${webhooksPerAccount} webhooks`, { limit: webhooksPerAccount });
  }
  const endpoint = createEndpoint(marketplace, account, 'employer', { url, eventTypes });
  const message = 'Store the secret now: it is not shown again.';
  return { ...one(endpoint), secret: endpoint.secret, message };
}

function listWebhooks({ marketplace, account }: EmployerCall) {
  return { webhooks: endpointsOfInstall(marketplace.state, account).map(toRecord) };
}

function deleteWebhook(call: EmployerCall) {
  const endpoint = findWebhook(call);
  deleteEndpoint(call.marketplace.state, endpoint);
  return one(endpoint);
}

function findWebhook({ marketplace, account, id }: EmployerCall): SandboxEndpoint {
  const endpoint = marketplace.state.endpoints.get(id);
  if (endpoint?.installId === account.id) return endpoint;
  throw new Refusal('not_found', 'There is no such webhook', { resource: 'webhooks', webhookId: id });
}

/** Without the number of failed deliveries. */
function toRecord({ id, url, eventTypes, status, createdAt, disabledAt, disabledReason }: SandboxEndpoint) {
  return { id, url, eventTypes, status, createdAt, disabledAt, disabledReason };
}

/** Types that the token may not read are left out silently. */
function listUpdates({ account, token, query }: EmployerCall) {
  const { cursor, limit } = parseFields(UpdatesQuery, query);
  const found = account.feed
    .slice(firstAfter(account.feed, cursor))
    .filter(({ type }) => isGranted(token.scopes, scopeOfEvent[type]));
  const events = found.slice(0, limit);
  return { events, nextCursor: events.at(-1)?.id ?? cursor ?? null, hasMore: found.length > limit };
}

/** A binary search, because a feed may be long. */
function firstAfter(feed: readonly FeedEvent[], cursor = '0'): number {
  let [low, high] = [0, feed.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (BigInt(feed[middle]?.id ?? 0) > BigInt(cursor)) high = middle;
    else low = middle + 1;
  }
  return low;
}
