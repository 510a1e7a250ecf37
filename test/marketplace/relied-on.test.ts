import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { createEmployerSource } from '../../src/marketplace/employer/create-employer-source.ts';
import { reliedOperations as ofEmployer } from '../../src/marketplace/employer/relied-on.ts';
import type { ReliedOperation, Shape } from '../../src/marketplace/http/compare-openapi.ts';
import {
  createPlatformSource,
  reliedOperations as ofPlatform,
} from '../../src/marketplace/platform/create-platform-source.ts';
import { Budget, Contract, Endpoint, Grant, Link, Participant } from '../../src/marketplace/record-schema.ts';
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
  (source) => source.endContract?.(id, signal),
  (source) => source.readApproval?.(id, signal),
  (source) => source.listPendingPayments?.(signal),
  (source) => source.readPublications?.([id], signal),
  (source) => source.listTokens?.(signal),
  (source) => source.createToken?.({ name: 'x', scopes: ['payments:read'], expiresAt: '2099-01-01' }, signal),
  (source) => source.revokeToken?.(id, signal),
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
    const path = pathname.replaceAll(id, '{id}').replace('/publications/1/', '/publications/{number}/');
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

/** `entries`, `entries.workDate`, … */
function namesIn(value: unknown, before = ''): string[] {
  if (Array.isArray(value)) return namesIn(value[0], before);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .flatMap(([name, within]) => [`${before}${name}`, ...namesIn(within, `${before}${name}.`)])
    .sort();
}

/** The same for a shape. */
function namesOf(shape: Shape | undefined, before = ''): string[] {
  const [one] = Array.isArray(shape) ? shape : [shape];
  if (one === undefined || typeof one === 'string' || one instanceof Set || Array.isArray(one)) return [];
  return Object.entries(one)
    .flatMap(([key, within]) => {
      const name = `${before}${key.replace('?', '')}`;
      return [name, ...namesOf(within, `${name}.`)];
    })
    .sort();
}

describe('what is relied on', () => {
  it.each<[string, readonly ReliedOperation[], (baseUrl: string) => Source]>([
    ['the platform API', ofPlatform, (baseUrl) => createPlatformSource({ baseUrl, token: 'ot_ptk_none' })],
    [
      'the API for employers',
      ofEmployer,
      (baseUrl) => createEmployerSource({ baseUrl, token: 'ot_pat_none', links: fixedLinks([[id, 'signs']]) }),
    ],
  ])('of %s names the requests that are sent, with all their fields', async (_, reliedOperations, open) => {
    const relied = reliedOperations.map(({ operation, query, body }) => [
      operation,
      { query: namesOf(query), body: namesOf(body) },
    ]);
    expect(await record(open)).toEqual(Object.fromEntries(relied));
  });

  it.each<[string, z.ZodObject, string, string]>([
    ['an install', Grant, 'GET /installs/current', 'install.'],
    ['a link', Link, 'GET /project-links', 'projectLinks.'],
    ['a contract', Contract, 'GET /contracts', 'contracts.'],
    ['a trainer', Participant, 'GET /contracts/{id}/participants', 'participants.'],
    ['a budget', Budget, 'GET /contracts/{id}/budget', ''],
    ['an endpoint', Endpoint, 'GET /webhook-endpoints', 'webhookEndpoints.'],
  ])('of %s names the fields that are read', (_name, schema, operation, before) => {
    const names = namesOf(ofPlatform.find((one) => one.operation === operation)?.answer);
    const own = names.filter((name) => name.startsWith(before)).map((name) => name.slice(before.length));
    expect(own.filter((name) => !name.includes('.'))).toEqual(Object.keys(schema.shape).sort());
  });
});
