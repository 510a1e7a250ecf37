import { expect } from 'vitest';
import {
  anyList,
  anyRecord,
  anyText,
  type Exchange,
  has,
  instant,
  like,
  on,
  onEach,
  type Step,
  times,
} from './exchange.ts';

/** What sections 4.6 to 4.10 of part A, and `employer-api.md` (E), say. */

const contract =
  'id status title jobId proposalId paymentType rateUsd estimatedTotalUsd estimatedVolume hasActiveMilestone' +
  ' startDate endDate createdAt updatedAt freelancer milestones';
const budget =
  'contractId paymentType state fundedVolume fundedAmountUsd consumed consumedVolume remainingVolume' +
  ' consumedFraction activeMilestone lastUsageAt';
const approval =
  'id type status contractId milestoneId jobId proposalId approvalUrl expiresAt resolvedAt result createdAt';
const topUp = 'id status amountCents createdAt completedAt expiresAt';
const webhook = 'id url eventTypes status createdAt disabledAt disabledReason';

const end = 'POST /contracts/{contract}/end';
const asked: Step[] = ['hire', 'fund', end];
const approvalOf = 'GET /approvals/{approval}';
const waiting = { type: 'contract_end', status: 'pending', contractId: '{contract}', milestoneId: null };
const milestone =
  'id name description status amountUsd volume milestoneNumber dueDate pendingApproval needsReview invoiceId createdAt';

const onContracts = [
  on('newest first', 'GET /contracts', { given: ['hire', 'hire', 'fund'] }, 200, {
    fields: {
      ...{ '': 'contracts', 'contracts.0': contract },
      'contracts.0.freelancer': 'userId displayName country profilePath',
    },
    values: {
      contracts: [
        {
          ...{ id: '{contract}', status: 'active', jobId: '{job}', hasActiveMilestone: true, endDate: null },
          freelancer: { displayName: like(/^\S+ \S\.$/) },
          milestones: [{ status: 'ACTIVE_FUNDED', pendingApproval: false, needsReview: false, milestoneNumber: 1 }],
        },
        { status: 'active', hasActiveMilestone: false, milestones: [] },
      ],
    },
  }),
  on('a milestone', 'GET /contracts', { given: ['hire', 'fund'] }, 200, {
    fields: { 'contracts.0.milestones.0': milestone },
  }),
  on('an unknown status', 'GET /contracts?status=paused', {}, 400, { details: { field: 'status' } }),
  on("another account's job", 'GET /contracts?jobId={foreignJob}', {}, 403),
  on('an unknown job', 'GET /contracts?jobId=job_0', {}, 404),
  on('one of them (E)', 'GET /contracts/{contract}', { given: ['hire'] }, 200, {
    fields: {
      ...{ '': 'contract', contract: `${contract} jobDmConversationId budget`, 'contract.budget': budget },
      'contract.budget.consumed': 'seconds hours labels tasks',
    },
  }),
  on('an end without funds', end, { given: ['hire'] }, 200, {
    fields: { '': 'ok contractId status' },
    values: { ok: true, contractId: '{contract}', status: 'ended' },
  }),
  on('an end with funds', end, { given: ['hire', 'fund'] }, 202, {
    fields: { '': 'approval message', approval },
    values: {
      approval: { ...waiting, proposalId: null, expiresAt: '{in 72h}', resolvedAt: null, result: null },
    },
  }),
  on('an end twice', end, { given: asked }, 202, { values: { approval: { id: '{approval}' } } }),
  on('an ended one', end, { given: ['hire', end] }, 409, { details: { reason: 'contract_ended' } }),
  on('no such contract', 'POST /contracts/ctr_0/end', {}, 404),
  on("another account's contract", end, { given: ['hire'], as: 'stranger' }, 404),
  on('it ends when it is confirmed', 'GET /contracts?status=ended', { given: [...asked, 'resolve confirmed'] }, 200, {
    values: { contracts: [{ id: '{contract}', status: 'ended', endDate: instant }] },
  }),
  on('a pending approval', approvalOf, { given: asked }, 200, { fields: { '': 'approval', approval } }),
  on('a confirmed approval', approvalOf, { given: [...asked, 'resolve confirmed'] }, 200, {
    values: { approval: { status: 'confirmed', resolvedAt: instant, result: anyRecord } },
  }),
  on('a declined approval', approvalOf, { given: [...asked, 'resolve declined'] }, 200, {
    values: { approval: { status: 'declined', resolvedAt: instant, result: null } },
  }),
  on('an expired approval', approvalOf, { given: [...asked, 'wait 73'] }, 200, {
    values: { approval: { status: 'expired', resolvedAt: instant, result: null } },
  }),
  on('no such approval', 'GET /approvals/apr_0', {}, 404, { details: { resource: 'approvals', approvalId: 'apr_0' } }),
  on("another account's approval", approvalOf, { given: asked, as: 'stranger' }, 404, {
    details: { resource: 'approvals', approvalId: '{approval}' },
  }),
];

const charged: Step = ['POST /credits/top-ups', { amountUsd: 25 }];

const onCredits = [
  on('a top-up', 'POST /credits/top-ups', { body: { amountUsd: 25.5 } }, 201, {
    fields: { '': 'topUpId checkoutUrl expiresAt topUp message', topUp },
    values: {
      ...{ checkoutUrl: like(/^https?:/), expiresAt: '{in 24h}' },
      topUp: { status: 'PENDING', amountCents: 2550, completedAt: null },
    },
  }),
  ...onEach('POST /credits/top-ups', 201, [{ amount: 10 }, { amountUsd: 10 }, { amountUsd: 10_000 }]),
  ...onEach(
    'POST /credits/top-ups',
    400,
    [{}, { amountUsd: 'ten' }, { amountUsd: '20' }, { amountUsd: 9.99 }, { amountUsd: 10_000.01 }],
    { field: 'amountUsd' },
  ),
  on('invalid JSON', 'POST /credits/top-ups', { raw: '{' }, 400),
  on('it is the record', 'GET /credits/top-ups/{topUp}', { given: [charged] }, 200, {
    fields: { '': topUp },
    values: { id: '{topUp}', status: 'PENDING', amountCents: 2500 },
  }),
  on('it is paid', 'GET /credits/top-ups/{topUp}', { given: [charged, 'pay'] }, 200, {
    text: /"status":"COMPLETED"/,
  }),
  on('pending payments', 'GET /payments/pending', { given: ['hire', 'bill'] }, 200, {
    fields: {
      '': 'payments',
      'payments.0': 'id status invoiceKind viewerRole amountUsd createdAt invoiceNumber job milestone',
      ...{ 'payments.0.job': 'id title', 'payments.0.milestone': 'id name' },
    },
    values: { payments: [{ status: 'PENDING_FUNDING', invoiceKind: 'FUNDING', job: { id: '{job}' } }] },
  }),
];

const onTeam = [
  on('the team', 'GET /team', {}, 200, {
    fields: {
      ...{ '': 'team', team: 'organization members invites' },
      'team.organization': 'id name ownerUserId ownerName',
      'team.members.0': 'userId role name email joinedAt',
    },
    values: { team: { members: has(expect.objectContaining({ role: 'OWNER' })), invites: anyList } },
  }),
  on('teams are off', 'GET /team', { account: { hasTeams: false } }, 403, { details: { reason: 'teams_not_enabled' } }),
];

const hook = { url: 'https://bridge.example.com/hook', eventTypes: ['contract.created'] };
const twice = { ...hook, eventTypes: [...hook.eventTypes, ...hook.eventTypes] };
const urlOf = (length: number): string => 'https://bridge.example.com/'.padEnd(length, 'a');
const hooked: Step = ['POST /webhooks', hook];
const noHook = (webhookId: string) => ({ details: { resource: 'webhooks', webhookId } });

const onWebhooks = [
  on('one is made, with each type once', 'POST /webhooks', { body: twice }, 201, {
    fields: { '': 'webhook secret message', webhook },
    values: {
      webhook: { ...hook, status: 'ACTIVE', disabledAt: null, disabledReason: null },
      ...{ secret: like(/^whsec_/), message: anyText },
    },
  }),
  ...onEach(
    'POST /webhooks',
    201,
    ['http://localhost:9/hook', urlOf(2048)].map((url) => ({ url, eventTypes: hook.eventTypes })),
  ),
  ...onEach(
    'POST /webhooks',
    400,
    [
      undefined,
      '/hook',
      'http://bridge.example.com/',
      'ftp://bridge.example.com/',
      'http://localhost.example.com/',
      urlOf(2049),
    ].map((url) => ({
      ...hook,
      url,
    })),
    { field: 'url' },
  ),
  ...onEach(
    'POST /webhooks',
    400,
    [[], ['contract.started']].map((eventTypes) => ({ ...hook, eventTypes })),
    {
      supportedEventTypes: has('contract.created', 'contract.budget_state_changed'),
    },
  ),
  ...onEach('POST /webhooks', 400, [
    { ...hook, eventTypes: undefined },
    { ...hook, eventTypes: 'contract.created' },
  ]),
  on('invalid JSON', 'POST /webhooks', { raw: '{' }, 400),
  on('the scope of each type', 'POST /webhooks', { as: ['webhooks:manage', 'jobs:read'], body: hook }, 403),
  on(
    'write covers the read of a type',
    'POST /webhooks',
    { as: ['webhooks:manage', 'payments:write'], body: hook },
    201,
  ),
  on('10 at most', 'POST /webhooks', { given: times(10, [hooked]), body: hook }, 409, { details: { limit: 10 } }),
  on('one', 'GET /webhooks/{webhook}', { given: [hooked] }, 200, { fields: { '': 'webhook', webhook } }),
  on('the list (E)', 'GET /webhooks', { given: [hooked] }, 200, { fields: { '': 'webhooks', 'webhooks.0': webhook } }),
  on('no such webhook', 'GET /webhooks/whk_0', {}, 404, noHook('whk_0')),
  on("another account's", 'GET /webhooks/{webhook}', { given: [hooked], as: 'stranger' }, 404, noHook('{webhook}')),
  on('a deleted one', 'GET /webhooks/{webhook}', { given: [hooked, 'DELETE /webhooks/{webhook}'] }, 404),
];

const hired = {
  ...{ id: like(/^\d+$/), type: 'contract.created', apiVersion: 'v1', createdAt: instant, resourceId: '{contract}' },
  ...{ jobId: '{job}', data: { contractId: '{contract}', jobId: '{job}' } },
};

const onFeed = [
  on('an empty feed', 'GET /updates', {}, 200, {
    fields: { '': 'events nextCursor hasMore' },
    values: { events: [], nextCursor: null, hasMore: false },
  }),
  on('a hire', 'GET /updates', { given: ['hire'] }, 200, {
    fields: {
      'events.0': 'id type apiVersion createdAt resourceId jobId data',
      'events.0.data': 'contractId jobId proposalId',
    },
    values: { events: [hired], hasMore: false },
  }),
  on('a funded milestone', 'GET /updates', { given: ['hire', 'fund'] }, 200, {
    fields: { 'events.1.data': 'milestoneId contractId status' },
    values: { events: [hired, { type: 'milestone.status_changed', data: { status: 'ACTIVE_FUNDED' } }] },
  }),
  on('a bill', 'GET /updates', { given: ['hire', 'bill'] }, 200, {
    fields: { 'events.1.data': 'invoiceId milestoneId contractId' },
    values: { events: [hired, { type: 'payment.pending' }] },
  }),
  ...['confirmed', 'declined', 'expired'].map((status) => {
    const act = status === 'expired' ? ['wait 73', approvalOf] : [`resolve ${status}`];
    return on(`an approval ${status} (E)`, 'GET /updates', { given: [...asked, ...act] }, 200, {
      fields: { 'events.2.data': 'approvalId status' },
      values: { events: [hired, {}, { type: 'approval.confirmed', data: { approvalId: '{approval}', status } }] },
    });
  }),
  on('a full page', 'GET /updates?limit=1', { given: ['hire', 'hire'] }, 200, {
    values: { events: [{ type: 'contract.created' }], hasMore: true },
  }),
  on('the next page', 'GET /updates?cursor={cursor}', { given: ['hire', 'GET /updates', 'hire'] }, 200, {
    values: { events: [hired], hasMore: false },
  }),
  on('an empty page', 'GET /updates?cursor={cursor}', { given: ['hire', 'GET /updates'] }, 200, {
    values: { events: [], nextCursor: '{cursor}', hasMore: false },
  }),
  on('what a token may not read', 'GET /updates', { given: ['hire'], as: ['messages:read'] }, 200, {
    values: { events: [] },
  }),
  on('the largest page', 'GET /updates?limit=200', {}, 200),
  ...['cursor=newest', 'cursor=-1', 'limit=0', 'limit=201', 'limit=1.5', 'limit=x'].map((query) =>
    on(query, `GET /updates?${query}`, {}, 400, { details: { field: query.replace(/=.*/, '') } }),
  ),
];

export const contractsAndEvents: Record<string, Exchange[]> = {
  ...{ 'A 4.6': onContracts, 'A 4.7': onCredits, 'A 4.8': onTeam, 'A 4.9': onWebhooks, 'A 4.10': onFeed },
};
