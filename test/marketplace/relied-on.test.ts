import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { type Reliance, shapesOf } from '../../src/marketplace/compare-openapi.ts';
import { team, tokens } from '../../src/marketplace/contract/account.ts';
import { type ChangesetOperation, changesets } from '../../src/marketplace/contract/changesets.ts';
import { operations } from '../../src/marketplace/contract/contract.ts';
import { approvals, contracts, credits, milestones } from '../../src/marketplace/contract/contracts.ts';
import { proposals } from '../../src/marketplace/contract/hiring.ts';
import { instructions, manuals, permissions, publications } from '../../src/marketplace/contract/instructions.ts';
import { drafts, jobs } from '../../src/marketplace/contract/jobs.ts';
import { toJsonSchema } from '../../src/marketplace/contract/json-schema.ts';
import { Contract, Grant, Link, Participant } from '../../src/marketplace/contract/platform.ts';
import { Budget, Endpoint } from '../../src/marketplace/contract/records.ts';
import { createEmployerSource } from '../../src/marketplace/employer/create-employer-source.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { ofEmployer, ofPlatform, reliedOn } from '../../src/marketplace/relied-on.ts';
import { fixedLinks, type NewLink, type Source, type UsageEntry } from '../../src/marketplace/source.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';
import { signal } from './failure-of.ts';

const id = 'id1';
const url = 'https://x.example';

const link: NewLink = {
  externalProjectId: id,
  externalProjectName: 'n',
  externalProjectUrl: url,
  provisioningMode: 'PARTNER_WEBHOOK',
  jobId: id,
};

const usage: UsageEntry = {
  workDate: '2026-03-15',
  totalSeconds: 1,
  tasksCompleted: 1,
  labelsCompleted: 1,
  workerOpentrainUserId: id,
  externalReportId: id,
};

/** Calls every operation with all fields that it can send. */
const bindings = [{ kind: 'JOB', targetId: id, precedence: 0 }] as const;
const audiences = ['WORKER'] as const;
/** With every field that some kind of operation has. */
const operation: Required<ChangesetOperation> = {
  ...{ kind: 'PATCH_CONTENT', manualId: id, pageId: id, baseRevisionNumber: 1, baseChecksum: 'x' },
  ops: [{ op: 'replace_node', nodeId: 'n', nodes: [{}], attrs: {} }],
  ...{ content: {}, confirmReplace: true, clientPageKey: 'x', parentId: null, position: 0, title: 'x' },
  ...{ audience: 'WORKER', assetId: id },
};
const changes = { workspaceId: id, description: 'x', operations: [operation] };

const calls: ((source: Source) => Promise<unknown> | undefined)[] = [
  (source) => source.readGrant(signal),
  (source) => source.listLinks(signal),
  (source) => source.createLink?.(link, signal),
  (source) => source.readLink(id, signal),
  (source) => source.deleteLink?.(id, signal),
  (source) => source.listContracts({ status: 'active', projectLinkId: id }, signal),
  (source) => source.listContracts({ status: 'active' }, signal),
  (source) => source.listParticipants(id, signal),
  (source) => source.readBudget(id, signal),
  (source) => source.reportUsage?.(id, [usage], signal),
  (source) => source.listEndpoints(signal),
  (source) => source.createEndpoint({ url, eventTypes }, signal),
  (source) => source.readEndpoint(id, signal),
  (source) => source.updateEndpoint?.(id, { url, eventTypes, status: 'ACTIVE' }, signal),
  (source) => source.deleteEndpoint(id, signal),
  (source) => source.redeliver?.(id, id, signal),
  (source) => source.readUpdates?.('1', signal),
  (source) => source.listPendingPayments?.(signal),
  (source) => source.readPublications?.([id], signal),
  (source) => source.listTokens?.(signal),
  (source) => source.call?.(tokens.create, { name: 'x', scopes: ['payments:read'], expiresAt: '2099-01-01' }, signal),
  (source) => source.call?.(tokens.revoke, { tokenId: id }, signal),
  (source) => source.call?.(drafts.create, { rawJobDescription: 'x', idempotencyKey: id }, signal),
  (source) => source.call?.(drafts.update, { jobId: id }, signal),
  (source) => source.call?.(jobs.publish, { jobId: id }, signal),
  (source) => source.listWhole?.(jobs.proposals, { jobId: id, limit: 100 }, signal, { keyOf: () => '' }),
  (source) => source.call?.(proposals.get, { proposalId: id }, signal),
  (source) => source.call?.(proposals.interview, { proposalId: id }, signal),
  (source) => source.call?.(proposals.hire, { proposalId: id, confirmNotFitOverride: true }, signal),
  (source) => source.call?.(approvals.get, { approvalId: id }, signal),
  (source) => source.call?.(contracts.end, { contractId: id }, signal),
  (source) => source.call?.(contracts.createMilestone, { contractId: id, name: 'x', amountUsd: 1, volume: 1 }, signal),
  (source) => source.call?.(milestones.fund, { milestoneId: id }, signal),
  (source) => source.call?.(milestones.approve, { milestoneId: id }, signal),
  (source) => source.call?.(credits.topUp, { amountUsd: 20 }, signal),
  (source) => source.call?.(team.get, {}, signal),
  (source) => source.call?.(instructions.capabilities, {}, signal),
  (source) =>
    source.call?.(manuals.create, { workspaceId: id, title: 'x', audience: 'WORKER', bindings: [...bindings] }, signal),
  (source) => source.call?.(manuals.tree, { manualId: id }, signal),
  (source) => source.listWhole?.(manuals.revisions, { manualId: id, limit: 1 }, signal, { keyOf: () => '' }),
  (source) => source.call?.(manuals.restore, { manualId: id, revisionNumber: id }, signal),
  (source) =>
    source.call?.(
      publications.create,
      { manualId: id, baseRevisionNumber: 1, audiences: [...audiences], note: 'x' },
      signal,
    ),
  (source) => source.listWhole?.(permissions.list, { workspaceId: id }, signal, { keyOf: () => '' }),
  (source) => source.call?.(changesets.validate, changes, signal),
  (source) => source.call?.(changesets.diff, changes, signal),
  (source) => source.call?.(changesets.apply, changes, signal),
  (source) => source.call?.(changesets.submit, changes, signal),
  (source) =>
    source.listWhole?.(changesets.list, { workspaceId: id, status: 'x', limit: 1 }, signal, { keyOf: () => '' }),
  (source) => source.call?.(changesets.get, { changesetId: id }, signal),
  (source) => source.call?.(changesets.approve, { changesetId: id, decisionNote: 'x' }, signal),
  (source) => source.call?.(changesets.reject, { changesetId: id, decisionNote: 'x' }, signal),
  (source) => source.call?.(changesets.applyStored, { changesetId: id }, signal),
  (source) => source.call?.(team.invite, { email: 'ada@example.com' }, signal),
];

/** Answers that lead to further calls; everything else is refused. */
const answers: Record<string, object> = {
  [`/contracts/${id}`]: { contract: { id, freelancer: { userId: id }, jobDmConversationId: id } },
  '/instructions/workspaces': { workspaces: [{ id }] },
  [`/instructions/workspaces/${id}/manuals`]: { manuals: [{ id }] },
  [`/instructions/manuals/${id}`]: { manual: { id, bindings: [{ kind: 'JOB', targetId: id, precedence: 0 }] } },
  [`/instructions/manuals/${id}/publications`]: { publications: [{ publicationNumber: 1, audiences: ['WORKER'] }] },
  [`/instructions/manuals/${id}/publications/1/manifest`]: {
    publicationNumber: 1,
    pages: [{ pageId: id, title: 'Signs', revision: 1 }],
  },
};

type Sent = Record<string, { query: string[]; body: string[] }>;

/** The requests by operation, with the names of all sent fields. */
async function record(open: (baseUrl: string) => Source): Promise<Sent> {
  const sent: Sent = {};
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const body = namesIn(JSON.parse((await Array.fromAsync(request)).join('') || '{}'));
    const path = pathname.replaceAll(id, '{}').replace('/publications/1/', '/publications/{}/');
    const operation = `${request.method} ${path}`;
    const query = new Set([...(sent[operation]?.query ?? []), ...searchParams.keys()]);
    sent[operation] = { query: [...query].sort(), body };
    const answer = answers[pathname];
    sendJson(response, answer ?? {}, answer === undefined ? 400 : 200);
  }
  const fake = await openHttpFake((request, response) => void take(request, response));
  const source = open(fake.url);
  for (const call of calls) await call(source)?.catch(() => undefined);
  return sent;
}

/** An address whose placeholders have no names. */
const withoutNames = (address: string) => address.replaceAll(/\{\w+\}/g, '{}');

/** `entries`, `entries.workDate`, … */
function namesIn(value: unknown, before = ''): string[] {
  if (Array.isArray(value)) return namesIn(value[0], before);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .flatMap(([name, within]) => [`${before}${name}`, ...namesIn(within, `${before}${name}.`)])
    .sort();
}

/** The same for a JSON Schema. */
function namesOf(schema: unknown, before = ''): string[] {
  const { items, properties } = Object(schema) as { items?: unknown; properties?: object };
  if (items !== undefined) return namesOf(items, before);
  return Object.entries(properties ?? {})
    .flatMap(([name, within]) => [`${before}${name}`, ...namesOf(within, `${before}${name}.`)])
    .sort();
}

const sources: [string, readonly Reliance[], (baseUrl: string) => Source][] = [
  ['the platform API', ofPlatform, (baseUrl) => createPlatformSource({ baseUrl, token: 'ot_ptk_none' })],
  [
    'the API for employers',
    ofEmployer,
    (baseUrl) => createEmployerSource({ baseUrl, token: 'ot_pat_none', links: fixedLinks([[id, 'signs']]) }),
  ],
];

describe('what is relied on', () => {
  it.each(sources)('of %s names the requests that are sent, with all their fields', async (_, relied, open) => {
    const named = relied.map((one) => {
      const { query, body } = shapesOf(one);
      return [withoutNames(one.operation.address), { query: namesOf(query), body: namesOf(body) }];
    });
    expect(await record(open)).toEqual(Object.fromEntries(named));
  });

  it.each(sources)('of %s are operations and fields of the contract', (_, relied) => {
    for (const { operation, sends = [], reads = [], vital = [] } of relied) {
      expect(operations).toContain(operation);
      const whole = shapesOf({ operation, reads: Object.keys(toJsonSchema(operation.out)['properties'] ?? {}) });
      expect(namesOf(whole.answer)).toEqual(expect.arrayContaining([...reads, ...vital]));
      expect(Object.keys(operation.in.shape)).toEqual(
        expect.arrayContaining(sends.map((name) => name.replace('?', ''))),
      );
    }
  });

  it('is known by the ids of the operations', () => {
    expect(reliedOn.size).toBe(ofPlatform.length + ofEmployer.length);
    expect([...reliedOn]).toEqual(expect.arrayContaining(['installs.current', 'contracts.get', 'pages.get']));
  });

  it.each<[string, z.ZodObject, string, string]>([
    ['an install', Grant.omit({ createdAt: true }), 'installs.current', 'install.'],
    ['a link', Link, 'project-links.list', 'projectLinks.'],
    ['a contract', Contract, 'platform-contracts.list', 'contracts.'],
    ['a trainer', Participant, 'platform-contracts.participants', 'participants.'],
    ['a budget', Budget, 'platform-contracts.budget', ''],
    ['an endpoint', Endpoint, 'webhook-endpoints.list', 'webhookEndpoints.'],
  ])('of %s names the fields that are read', (_name, schema, operation, before) => {
    const relied = ofPlatform.filter((one) => one.operation.id === operation);
    const names = relied.flatMap((one) => namesOf(shapesOf(one).answer));
    const own = names.filter((name) => name.startsWith(before)).map((name) => name.slice(before.length));
    expect(own.filter((name) => !name.includes('.'))).toEqual(Object.keys(schema.shape).sort());
  });
});
