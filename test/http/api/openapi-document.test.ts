import { describe, expect, it } from 'vitest';
import { createDocument, operations } from '../../../src/http/api/openapi-document.ts';

// As it is sent.
const document = JSON.parse(JSON.stringify(createDocument()));

describe("the API's document", () => {
  it('has every operation, each with a unique name', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { operationId: string }>).map(([method, { operationId }]) => [
        method,
        path,
        operationId,
      ]),
    );
    expect(described.sort()).toEqual(operations.map(({ method, path, id }) => [method, path, id]).sort());
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  });

  it('has no broken references', () => {
    const refs = new Set<string>();
    JSON.stringify(document, (key, value) => {
      if (key === '$ref') refs.add(value);
      return value;
    });
    expect(refs.size).toBeGreaterThan(10);
    for (const ref of refs) {
      const found = ref
        .replace(/^#\//, '')
        .split('/')
        .reduce((at, part) => at?.[part], document);
      expect([ref, found]).toEqual([ref, expect.anything()]);
    }
  });

  it.each(operations.map((operation) => [operation.id, operation] as const))(
    '%s declares exactly the parameters of its address',
    (_, { path, params, method }) => {
      const open = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(Object.keys(params.shape)).toEqual(open);
      expect(path).toMatch(/^(\/(\{[a-z]+\}|[a-z]+(-[a-z]+)*))+$/);
      const listed = document.paths[path][method].parameters ?? [];
      const inPath = listed.filter((one: { in: string }) => one.in === 'path').map((one: { name: string }) => one.name);
      expect(inPath).toEqual(open);
    },
  );
});
