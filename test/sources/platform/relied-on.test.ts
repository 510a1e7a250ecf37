import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { platformEventTypes as eventTypes } from '../../../src/domain/event.ts';
import { Budget } from '../../../src/sources/http/budget-schema.ts';
import type { Shape } from '../../../src/sources/http/relied-operation.ts';
import { createPlatformSource, type PlatformSource } from '../../../src/sources/platform/create-platform-source.ts';
import {
  Contract,
  Grant,
  Participant,
  ProjectLink,
  WebhookEndpoint,
} from '../../../src/sources/platform/platform-schema.ts';
import { reliedOperations } from '../../../src/sources/platform/relied-on.ts';
import { listenOnLoopback } from '../../support/http-fake.ts';

const { signal } = new AbortController();
const at = 'id1';

/** Every operation, with all that it may send. */
const calls: ((api: PlatformSource) => Promise<unknown>)[] = [
  (api) => api.readGrant(signal),
  (api) => api.listLinks(signal),
  (api) =>
    api.createLink(
      {
        externalProjectId: at,
        externalProjectName: 'n',
        externalProjectUrl: 'https://x.example',
        provisioningMode: 'PARTNER_WEBHOOK',
        jobId: at,
      },
      signal,
    ),
  (api) => api.readLink(at, signal),
  (api) => api.deleteLink(at, signal),
  (api) => api.listContracts({ status: 'active', projectLinkId: at }, signal),
  (api) => api.listParticipants(at, signal),
  (api) => api.readBudget(at, signal),
  (api) =>
    api.reportUsage(
      at,
      [
        {
          workDate: '2026-03-15',
          totalSeconds: 1,
          tasksCompleted: 1,
          labelsCompleted: 1,
          workerOpentrainUserId: at,
          externalReportId: at,
        },
      ],
      signal,
    ),
  (api) => api.listEndpoints(signal),
  (api) => api.createEndpoint({ url: 'https://x.example', eventTypes }, signal),
  (api) => api.readEndpoint(at, signal),
  (api) => api.updateEndpoint(at, { url: 'https://x.example', eventTypes, status: 'ACTIVE' }, signal),
  (api) => api.deleteEndpoint(at, signal),
  (api) => api.redeliver(at, at, signal),
];

interface Sent {
  operation: string;
  query: string[];
  body: string[];
}

/** The requests to a marketplace that refuses everything. */
async function record(): Promise<Sent[]> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x.example');
    sent.push({
      operation: `${request.method} ${pathname.replace(at, '{id}')}`,
      query: [...searchParams.keys()].sort(),
      body: namesIn(JSON.parse(Buffer.concat(chunks).toString() || '{}')),
    });
    response.writeHead(400).end('{}');
  });
  const api = createPlatformSource({ baseUrl: await listenOnLoopback(server), token: 'ot_ptk_none' });
  for (const call of calls) await call(api).catch(() => undefined);
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

/** The same of a shape. */
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
  it('is what is called, and all that may be sent', async () => {
    const relied = reliedOperations.map(({ operation, query, body }) => ({
      operation,
      query: namesOf(query),
      body: namesOf(body),
    }));
    expect(await record()).toEqual(relied);
  });

  it.each<[string, z.ZodObject, string, string]>([
    ['an install', Grant, 'GET /installs/current', 'install.'],
    ['a link', ProjectLink, 'GET /project-links', 'projectLinks.'],
    ['a contract', Contract, 'GET /contracts', 'contracts.'],
    ['a trainer', Participant, 'GET /contracts/{id}/participants', 'participants.'],
    ['a budget', Budget, 'GET /contracts/{id}/budget', ''],
    ['an endpoint', WebhookEndpoint, 'GET /webhook-endpoints', 'webhookEndpoints.'],
  ])('of %s is what is read of it', (_name, schema, operation, before) => {
    const names = namesOf(reliedOperations.find((one) => one.operation === operation)?.answer);
    const own = names.filter((name) => name.startsWith(before)).map((name) => name.slice(before.length));
    expect(own.filter((name) => !name.includes('.'))).toEqual(Object.keys(schema.shape).sort());
  });
});
