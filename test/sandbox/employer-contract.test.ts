import { expect, it } from 'vitest';
import { reliedOperations } from '../../src/marketplace/employer/relied-on.ts';
import { compareOpenapi } from '../../src/marketplace/http/compare-openapi.ts';
import { OpenapiDocument } from '../../src/marketplace/record-schema.ts';
import { splitOperation } from '../../src/sandbox/api-router.ts';
import { employerRoutes } from '../../src/sandbox/employer/employer-api.ts';
import { describeEmployerApi } from '../../src/sandbox/openapi.ts';
import { type AccountWorld, openAccount } from './account-harness.ts';
import { toStrictSchema } from './strict-schema.ts';

/** One of everything: what each operation that has an `{id}` is asked for, and what is sent to it. */
async function openReady() {
  const world = await openAccount();
  const { sandbox, accountId, jobId, api } = world;
  const [funded, unfunded] = [sandbox.hire({ jobId }).contractId, sandbox.hire({ jobId }).contractId];
  sandbox.fundMilestone(funded);
  sandbox.billContract(funded, { paymentUrl: 'https://pay.example/1' });
  const { body: asked } = await api('POST', `/contracts/${funded}/end`);
  const { manualId, pageIds } = sandbox.createManual(accountId, {
    bindings: [{ targetId: jobId }],
    pages: [{ title: 'Signs' }],
  });
  sandbox.publishManual(manualId);
  const webhook = { url: 'https://bridge.example.com/hook', eventTypes: ['contract.created'] };
  const { body: made } = await api('POST', '/webhooks', { body: webhook });
  const { body: spare } = await api('POST', '/tokens', { body: { name: 'spare' } });
  const ids: Record<string, string> = {
    '/tokens/{id}': spare.metadata.id,
    '/contracts/{id}': funded,
    '/contracts/{id}/end': unfunded,
    '/approvals/{id}': asked.approval.id,
    '/webhooks/{id}': made.webhook.id,
    '/instructions/workspaces/{id}/manuals': `wsp_${accountId}`,
    '/instructions/manuals/{id}': manualId,
    '/instructions/manuals/{id}/publications': manualId,
    '/instructions/manuals/{id}/publications/{number}/manifest': manualId,
    '/instructions/pages/{id}': pageIds[0] ?? '',
  };
  const bodies: Record<string, object> = { 'post /webhooks': webhook, 'post /tokens': {} };
  const member = `?conversationId=dm_${funded}&contractId=${funded}&includeWorkEmail=true`;
  async function call(method: string, path: string) {
    const query = path.startsWith('/messaging') ? member : '';
    const at = path.replace('{id}', ids[path] ?? '').replace('{number}', '1');
    const body = bodies[`${method} ${path}`];
    return await api(method.toUpperCase(), `${at}${query}`, body && { body });
  }
  return { world, asked, call };
}

const operations = employerRoutes.map(({ operation }) => {
  const { method, path } = splitOperation(operation);
  return [method, path] as const;
});
const document = describeEmployerApi(false);
const described = document.paths;

function strictly(method: string, path: string, status: number) {
  const response = described[path]?.[method]?.responses[status];
  return toStrictSchema(response?.content['application/json'].schema, document);
}

async function serve({ api }: AccountWorld) {
  return (await api('GET', '/openapi.json', { token: undefined })).body;
}

it('serves a description of exactly the operations that it has', async () => {
  const { world } = await openReady();
  expect(await serve(world)).toEqual(JSON.parse(JSON.stringify(document)));
  const names = Object.entries(described).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  expect(names.sort()).toEqual(operations.map((operation) => operation.join(' ')).sort());
  for (const [method, path] of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = described[path]?.[method]?.parameters ?? [];
    expect([path, parameters.flatMap((one) => (one.in === 'path' ? [one.name] : []))]).toEqual([path, inPath]);
  }
});

it.each(operations)('answers %s %s as it is described', async (method, path) => {
  const { call } = await openReady();
  const { status, body } = await call(method, path);
  expect(status).toBe(method === 'post' && !path.endsWith('/end') ? 201 : 200);
  expect(() => strictly(method, path, status).parse(body)).not.toThrow();
});

it('answers an end that a person must confirm as it is described', async () => {
  const { asked } = await openReady();
  expect(() => strictly('post', '/contracts/{id}/end', 202).parse(asked)).not.toThrow();
});

it('describes everything that Gangway relies on', async () => {
  const { world } = await openReady();
  expect(compareOpenapi(OpenapiDocument.parse(await serve(world)), reliedOperations)).toEqual([]);
});
