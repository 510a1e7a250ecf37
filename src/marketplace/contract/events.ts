import { z } from 'zod';
import { family, op } from './operation.ts';
import { Endpoint, EventRecord } from './records.ts';
import { deliverable } from './requests.ts';
import { lenient, listing, pageOf } from './shapes.ts';
import { Id, Secret, Text } from './values.ts';

/** Webhooks and the feed of an account (spec: part A sections 2.10, 4.9, 4.10 and 6). */

/** The event types, with the scope that each needs. */
export const scopeOfEvent = {
  'contract.created': 'payments:read',
  'approval.confirmed': 'payments:read',
  'milestone.status_changed': 'payments:read',
  'contract.budget_state_changed': 'payments:read',
  'payment.pending': 'payments:read',
  'proposal.received': 'proposals:read',
  'proposal.status_changed': 'proposals:read',
  'message.received': 'messages:read',
} as const;
export type FeedType = keyof typeof scopeOfEvent;
export const feedTypes = Object.keys(scopeOfEvent) as FeedType[];

const OneWebhook = z.object({ webhook: Endpoint });

export const webhooks = family('webhooks', {
  section: 'A 4.9',
  scopes: ['webhooks:manage'],
  feature: 'public_api_webhooks',
  own: 'gangway endpoint',
})({
  list: op('GET /webhooks', 'list the webhooks', {
    out: pageOf('webhooks', Endpoint),
    assumed: 'The name of the list.',
  }),
  create: op('POST /webhooks', 'create a webhook', {
    in: z.object({ url: deliverable, eventTypes: z.array(z.enum(feedTypes)).min(1) }),
    out: OneWebhook.extend({ secret: Secret, message: Text }),
    status: 201,
    limits: ['10 webhooks', '2,048 characters of URL'],
    refusals: [409],
  }),
  get: op('GET /webhooks/{webhookId}', 'read a webhook', { out: OneWebhook }),
  delete: op('DELETE /webhooks/{webhookId}', 'delete a webhook', {
    out: lenient(z.object({ webhook: lenient(Endpoint), id: lenient(Id) })),
    assumed: 'The record of the webhook, or nothing.',
  }),
});

export const updates = family('updates', { section: 'A 4.10' })({
  list: op('GET /updates', 'read what has happened', {
    scopes: ['proposals:read|messages:read|payments:read'],
    ...listing('events', EventRecord, 50, 200),
  }),
});
