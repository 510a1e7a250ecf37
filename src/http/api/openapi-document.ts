import { z } from 'zod';
import { createDocument as createOpenApi, type ZodOpenApiOperationObject } from 'zod-openapi';
import { version } from '../../lib/version.ts';
import { operations as declared } from '../../operations/all.ts';
import { splitInput } from '../../operations/input.ts';
import type { Operation } from '../../operations/operation.ts';
import { Problem, titlesByStatus } from './problem.ts';

/** An operation as the API takes it: what is in the address, in the query of a read, and in the body of an act. */
export interface Served extends Operation {
  params: z.ZodObject;
  query: z.ZodObject;
  /** Undefined for a read. */
  body: z.ZodType<object> | undefined;
}

export const operations: readonly Served[] = declared.map((operation) => {
  const { params, rest } = splitInput(operation);
  const isRead = operation.method === 'get';
  const query = isRead ? (rest as z.ZodObject) : z.strictObject({});
  return { ...operation, params, query, body: isRead ? undefined : rest };
});

export const idempotencyKey = z.string().regex(/^[!-~]{1,200}$/);

const actHeaders = z.object({
  'Idempotency-Key': idempotencyKey
    .optional()
    .describe('A request that is repeated with the same key is carried out once, and gets the same answer for a day.'),
});

type Document = ReturnType<typeof createOpenApi>;

/** Made on the first request for it. */
let made: Document | undefined;

/** All operations as OpenAPI 3.1, from the schemas that validate requests and trim answers. */
export function createDocument(): Document {
  made ??= createOpenApi({
    openapi: '3.1.1',
    info: {
      title: 'Gangway',
      version,
      description:
        'What the console and the command line can do. Lists have pages: `next` is the cursor of the next one. Acts take an Idempotency-Key.',
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of console.tokens.' },
      },
    },
    paths: Object.fromEntries(
      [...Map.groupBy(operations, ({ path }) => path)].map(([path, some]) => [
        path,
        Object.fromEntries(some.map((operation) => [operation.method, describe(operation)])),
      ]),
    ),
  });
  return made;
}

function describe({ id, summary, noun, role, params, query, body, out, method }: Served): ZodOpenApiOperationObject {
  return {
    operationId: id,
    summary,
    tags: [noun],
    description: role === 'operator' ? 'For operators.' : 'For viewers and operators.',
    'x-role': role,
    requestParams: { path: params, query, ...(method === 'post' && { header: actHeaders }) },
    ...(body !== undefined && {
      requestBody: { required: !body.safeParse({}).success, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      // Node answers it before the API sees the request, so it is no problem document.
      431: { description: 'The address or the headers are too long.' },
      200: { description: 'Done.', content: { 'application/json': { schema: out } } },
      ...Object.fromEntries(
        [...titlesByStatus].map(([status, some]) => [
          status,
          { description: `${some.join('; or: ')}.`, content: { 'application/problem+json': { schema: Problem } } },
        ]),
      ),
    },
  };
}
