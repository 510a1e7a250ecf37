import { z } from 'zod';
import { createDocument as createOpenApi, type ZodOpenApiOperationObject } from 'zod-openapi';
import { version } from '../lib/version.ts';
import { operations as declared } from '../operations/all.ts';
import { splitInput } from '../operations/input.ts';
import type { Operation } from '../operations/operation.ts';
import { Problem } from './problem.ts';

type Document = ReturnType<typeof createOpenApi>;

/** Made once, when it is first asked for. */
let made: Document | undefined;

/** All operations as OpenAPI 3.1, from the schemas that check requests and cut answers. */
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

const refusals: Record<number, string> = {
  400: 'The request does not fit this document.',
  401: 'There is no token, or it is wrong.',
  403: 'The token does not allow this.',
  404: 'There is no such thing.',
  405: 'The address takes other methods.',
  409: 'It does not fit what is there.',
  413: 'The body is too large.',
  415: 'The body is no JSON.',
  422: 'It fits this document, and cannot be done; or the Idempotency-Key came with another request before.',
  424: 'The marketplace or a tool refused it.',
  429: 'Too many wrong tokens came from this address.',
  500: 'It did not work, and the log says why.',
  503: 'It cannot be done now.',
};

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
      // Node answers it before the API is asked, so the answer is no problem document.
      431: { description: 'The address or the headers are too long.' },
      200: { description: 'Done.', content: { 'application/json': { schema: out } } },
      ...Object.fromEntries(
        Object.entries(refusals).map(([status, description]) => [
          status,
          { description, content: { 'application/problem+json': { schema: Problem } } },
        ]),
      ),
    },
  };
}

/** An operation as the API takes it: what is in the address, in the query of a read, and in the body of an act. */
export interface Served extends Operation {
  params: z.ZodObject;
  query: z.ZodObject;
  /** Undefined for a read. */
  body: z.ZodType<object> | undefined;
}

const none = z.strictObject({});

export const operations: readonly Served[] = declared.map((operation) => {
  const { params, rest } = splitInput(operation);
  const isRead = operation.method === 'get';
  return { ...operation, params, query: isRead ? (rest as z.ZodObject) : none, body: isRead ? undefined : rest };
});

export const idempotencyKey = z.string().regex(/^[!-~]{1,200}$/);

const actHeaders = z.object({
  'Idempotency-Key': idempotencyKey
    .optional()
    .describe('The same request with the same key is done once, and gets the same answer for a day.'),
});
