import { z } from 'zod';
import { fieldsOfPath, methodOf, type Operation, pathOf } from '../marketplace/contract/operation.ts';
import { refusals } from '../marketplace/contract/refusals.ts';
import type { Route } from './api-router.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What `/openapi.json` of an API answers. */
export function describeApi(title: string, url: string, routes: readonly Pick<Route, 'operation'>[]) {
  const paths: Record<string, Record<string, ReturnType<typeof describe>>> = {};
  for (const { operation } of routes) {
    const path = pathOf(operation);
    paths[path] = { ...paths[path], [methodOf(operation).toLowerCase()]: describe(operation) };
  }
  const token = { type: 'http', scheme: 'bearer', description: 'A token ot_pat_… or ot_ptk_…' };
  const components = { securitySchemes: { token } };
  return { openapi: '3.1.0', info: { title, version: 'v1' }, servers: [{ url }], paths, components };
}

function describe(operation: Operation) {
  const { purpose, credential, scopes, status, isConfirmed, isFile } = operation;
  const sent = toJsonSchema(operation.in);
  const isQuery = ['GET', 'DELETE'].includes(methodOf(operation));
  const hasBody = !isQuery && Object.keys(sent.properties ?? {}).length > 0;
  const inQuery = isQuery ? Object.entries(sent.properties ?? {}) : [];
  const answer = isFile ? { 'application/octet-stream': {} } : toContent(toJsonSchema(operation.out));
  return {
    summary: purpose,
    security:
      credential === 'none' || credential === 'claim' ? [] : [{ token: scopes.flatMap((one) => one.split('|')) }],
    parameters: [
      ...fieldsOfPath(operation).map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...inQuery.map(([name, schema]) => ({ name, in: 'query', required: isRequired(sent, name), schema })),
    ],
    ...(hasBody && { requestBody: { required: (sent.required ?? []).length > 0, content: toContent(sent) } }),
    responses: {
      [status]: { description: 'Done', content: answer },
      ...(isConfirmed && { 202: { description: 'A person must confirm it', content: answer } }),
      ...Object.fromEntries(statusesOf(operation).map((code) => [code, { description: 'Refused', content: failure }])),
    },
  };
}

function isRequired({ required = [] }: JsonSchema, name: string): boolean {
  return required.includes(name);
}

export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input', override: leaveOut });
  return described;
}

/** Omits the pattern of a date, which its format implies, and the bounds that every integer has in JavaScript. */
function leaveOut({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

const toContent = (schema: object) => ({ 'application/json': { schema } });

const text = { type: 'string' };
const failure = toContent({
  type: 'object',
  properties: { error: text, code: text, requestId: text, error_description: text, details: { type: 'object' } },
  required: ['error'],
});

function statusesOf({ address, credential, reasons, refusals: others, idempotency, in: sent }: Operation): number[] {
  const ofInput = Object.keys(sent.shape).length > 0 ? [400] : [];
  const ofToken = credential === 'personal' || credential === 'platform' ? [401, 403] : [];
  const ofId = address.includes('{') ? [404] : [];
  const ofKey = idempotency === 'header' ? [409] : [];
  const all = [...ofInput, ...ofToken, ...ofId, ...ofKey, ...others, ...reasons.map((reason) => refusals[reason][0])];
  return [...new Set(all)].sort((one, other) => one - other);
}
