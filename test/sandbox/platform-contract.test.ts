import { describe, expect, it } from 'vitest';
import { nameOf } from '../../src/sandbox/faults/fault-dice.ts';
import { describeApi } from '../../src/sandbox/openapi.ts';
import { platformRoutes } from '../../src/sandbox/platform-api.ts';
import { clock, openWorld, request, today, type World } from './sandbox-harness.ts';
import { toStrictSchema } from './strict-schema.ts';

/** What each operation needs and how it succeeds, from the specification and not from the code. */
interface Example {
  method: string;
  path: string;
  scope: string | undefined;
  status: number;
  body?: object;
}

interface Operation {
  security: unknown;
  parameters: { name: string; schema: unknown }[];
  responses: Record<string, { content: { 'application/json': { schema: unknown } } }>;
}

interface Ready extends World {
  linkId: string;
  contractId: string;
  endpointId: string;
}

const url = 'https://bridge.example.com/hook';
const examples = [
  toExample('GET', '/installs/current', undefined),
  toExample('POST', '/project-links', 'project-links:write', { externalProjectId: 'another' }, 201),
  toExample('GET', '/project-links', 'project-links:read'),
  toExample('GET', '/project-links/{id}', 'project-links:read'),
  toExample('DELETE', '/project-links/{id}', 'project-links:write'),
  toExample('GET', '/contracts', 'contracts:read'),
  toExample('GET', '/contracts/{id}/participants', 'participants:read'),
  toExample('GET', '/contracts/{id}/budget', 'contracts:read'),
  toExample('POST', '/contracts/{id}/usage', 'usage:write', { entries: [{ workDate: today, totalSeconds: 60 }] }),
  toExample('POST', '/webhook-endpoints', 'webhooks:manage', { url, eventTypes: ['contract.started'] }, 201),
  toExample('GET', '/webhook-endpoints', 'webhooks:manage'),
  toExample('GET', '/webhook-endpoints/{id}', 'webhooks:manage'),
  toExample('PATCH', '/webhook-endpoints/{id}', 'webhooks:manage', { eventTypes: ['contract.ended'] }),
  toExample('DELETE', '/webhook-endpoints/{id}', 'webhooks:manage'),
  toExample('POST', '/webhook-endpoints/{id}/redeliver', 'webhooks:manage', {}),
];

function toExample(method: string, path: string, scope: string | undefined, body?: object, status = 200): Example {
  return { method, path, scope, status, ...(body && { body }) };
}

const scopes = [
  'project-links:read',
  'project-links:write',
  'contracts:read',
  'participants:read',
  'participants:email',
  'usage:write',
  'webhooks:manage',
] as const;

const name = '$method $path';

describe('the platform API', () => {
  it.each(examples)(`${name} succeeds as its own openapi.json describes, with its scope`, async (example) => {
    const world = await openReadyWorld();
    const answer = await call(world, example);
    expect(answer.status).toBe(example.status);
    const { responses, security } = await describedOperation(world, example);
    expect(security).toEqual([{ token: example.scope === undefined ? [] : [example.scope] }]);
    const { schema } = responses[example.status]?.content['application/json'] ?? {};
    expect(() => toStrictSchema(schema).parse(answer.body)).not.toThrow();
  });

  it.each(examples)(`${name} needs exactly its scope`, async (example) => {
    const world = await openReadyWorld();
    for (const scope of scopes) {
      const { token } = world.sandbox.createInstall({
        organizationId: world.organizationId,
        tokenScopes: [scope],
      });
      const { status, body } = await call(world, example, token);
      const isEnough = scope === example.scope || scope === writeFor(example.scope);
      if (isEnough || example.scope === undefined) expect(status).not.toBe(403);
      else {
        expect([scope, status, body.code]).toEqual([scope, 403, 'FORBIDDEN']);
        expect(body.details).toEqual({ requiredScopes: [example.scope], grantedScopes: [scope] });
      }
    }
  });

  it.each(examples)(`${name} refuses a caller without a live token`, async (example) => {
    const world = await openReadyWorld();
    const { sandbox, installId } = world;
    for (const token of ['ot_ptk_unknown', 'nonsense']) {
      expect(await call(world, example, token)).toMatchObject(envelope(401, 'UNAUTHORIZED'));
    }
    const anonymous = await request(example.method, `${world.baseUrl}${pathOf(world, example)}`);
    expect(anonymous).toMatchObject(envelope(401, 'UNAUTHORIZED'));

    sandbox.revokeInstall(installId);
    expect(await call(world, example)).toMatchObject(envelope(403, 'FORBIDDEN'));
    sandbox.revokeToken(installId);
    expect(await call(world, example)).toMatchObject(envelope(401, 'UNAUTHORIZED'));
  });

  it.each(examples.filter(({ path }) => path.includes('{id}')))(
    `${name} hides what belongs to another install`,
    async (example) => {
      const world = await openReadyWorld();
      const stranger = world.sandbox.createInstall();
      const answer = await call(world, example, stranger.token);
      expect(answer).toMatchObject(envelope(404, 'NOT_FOUND'));
      const unknown = await call({ ...world, linkId: 'x', contractId: 'x', endpointId: 'x' }, example);
      expect(unknown).toMatchObject(envelope(404, 'NOT_FOUND'));
    },
  );

  it.each(examples.filter(({ body }) => body !== undefined))(
    `${name} refuses a body that is not an object`,
    async (example) => {
      const world = await openReadyWorld();
      for (const rawBody of ['{"half":', '[]', '"text"']) {
        const answer = await world.api(example.method, pathOf(world, example), { rawBody });
        expect(answer).toMatchObject(envelope(400, 'BAD_REQUEST'));
      }
    },
  );

  it('answers 401, not 400, to a malformed body without a token', async () => {
    const { baseUrl } = await openWorld();
    const answer = await request('POST', `${baseUrl}/project-links`, { rawBody: '{"half":' });
    expect(answer.status).toBe(401);
  });

  it('describes exactly the operations that it serves', async () => {
    const { baseUrl } = await openWorld();
    const { body } = await request('GET', `${baseUrl}/openapi.json`);
    expect(body).toEqual(
      JSON.parse(JSON.stringify(describeApi('Annotation-platform API', '/api/partner/v1', platformRoutes))),
    );

    const described = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => nameOf(`${method.toUpperCase()} ${path}`)),
    );
    const served = platformRoutes.map(({ operation }) => nameOf(operation.address));
    const specified = examples.map(({ method, path }) => `${method} ${path}`);
    expect(described.toSorted()).toEqual(served.toSorted());
    expect(served.toSorted()).toEqual(['GET /openapi.json', ...specified].toSorted());
  });

  it('describes the query of the contracts', async () => {
    const { baseUrl } = await openWorld();
    const { body } = await request('GET', `${baseUrl}/openapi.json`);
    const { parameters } = body.paths['/contracts'].get as Operation;
    const schemas = parameters.map(({ name, schema }) => [name, schema]);
    expect(Object.fromEntries(schemas)).toEqual({
      projectLinkId: { type: 'string', minLength: 1, maxLength: 200 },
      status: { type: 'string', enum: ['active', 'ended'] },
      limit: { type: 'integer', minimum: 1, maximum: 200, description: 'At most 200 records.' },
      cursor: { type: 'string', description: 'The nextCursor of the page before.' },
    });
  });

  it('answers 404 to every other method and path', async () => {
    const world = await openReadyWorld();
    const paths = new Set([...examples.map(({ path }) => path), '/contracts/{id}', '/', '/nothing']);
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        if (examples.some((example) => example.method === method && example.path === path)) continue;
        const answer = await world.api(method, pathOf(world, { path }));
        expect([method, path, answer]).toMatchObject([method, path, envelope(404, 'NOT_FOUND')]);
      }
    }
  });
});

async function openReadyWorld(): Promise<Ready> {
  const world = await openWorld({ clock });
  const linkId = await world.link('streets');
  const { contractId } = world.sandbox.hire({ jobId: world.jobId });
  world.sandbox.fundMilestone(contractId);
  const { id: endpointId } = await world.subscribe(url, ['install.revoked']);
  await world.api('PATCH', `/webhook-endpoints/${endpointId}`, { body: { status: 'DISABLED' } });
  return { ...world, linkId, contractId, endpointId };
}

function call(world: Ready, example: Example, token = world.token) {
  return world.api(example.method, pathOf(world, example), { token, body: example.body });
}

function pathOf(world: Ready, { path }: Pick<Example, 'path'>): string {
  if (path.startsWith('/project-links')) return path.replace('{id}', world.linkId);
  if (path.startsWith('/contracts')) return path.replace('{id}', world.contractId);
  return path.replace('{id}', world.endpointId);
}

function writeFor(scope: string | undefined): string | undefined {
  return scope?.replace(/:read$/, ':write');
}

function envelope(status: number, code: string) {
  const text = expect.stringMatching(/./);
  return { status, body: { error: text, code, requestId: text } };
}

async function describedOperation(world: World, { method, path }: Example): Promise<Operation> {
  const { body } = await request('GET', `${world.baseUrl}/openapi.json`);
  const found = Object.keys(body.paths).find((one) => nameOf(one) === path) ?? '';
  return body.paths[found][method.toLowerCase()];
}

/** Refuses undescribed properties, so that the description and the answers stay equal. */
