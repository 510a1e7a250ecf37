import { expect, it } from 'vitest';
import { compareOpenapi } from '../../src/marketplace/compare-openapi.ts';
import { fieldsOfPath, methodOf, pathOf } from '../../src/marketplace/contract/operation.ts';
import { OpenapiDocument } from '../../src/marketplace/contract/records.ts';
import { ofEmployer } from '../../src/marketplace/relied-on.ts';
import { employerRoutes } from '../../src/sandbox/employer/employer-api.ts';
import { describeApi } from '../../src/sandbox/openapi.ts';
import { openAccount } from './account-harness.ts';

async function serve() {
  const { api } = await openAccount();
  return (await api('GET', '/openapi.json', { token: undefined })).body;
}

it('serves a description of exactly the operations that it has', async () => {
  const document = describeApi('API for employers', '/api/public/v1', employerRoutes);
  expect(await serve()).toEqual(JSON.parse(JSON.stringify(document)));
  const names = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(names.sort()).toEqual(employerRoutes.map(({ operation }) => operation.address as string).sort());
  for (const { operation } of employerRoutes) {
    const { parameters } = document.paths[pathOf(operation)]?.[methodOf(operation).toLowerCase()] ?? {};
    const inPath = parameters?.flatMap((one) => (one.in === 'path' ? [one.name] : []));
    expect([operation.id, inPath]).toEqual([operation.id, fieldsOfPath(operation)]);
  }
});

it('describes everything that Gangway relies on', async () => {
  expect(compareOpenapi(OpenapiDocument.parse(await serve()), ofEmployer)).toEqual([]);
});
