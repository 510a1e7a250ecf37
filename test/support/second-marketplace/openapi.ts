import type { Operation } from './operations.ts';

/** The contract that is served: which operations there are, and who may call them. */
export function openapiOf(operations: Operation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, scopes, status = 200 } of operations) {
    const named = path.replace('{id}', '{resourceId}');
    const parameters = path.includes('{id}')
      ? [{ name: 'resourceId', in: 'path', required: true, schema: { type: 'string' } }]
      : [];
    paths[named] = {
      ...paths[named],
      [method.toLowerCase()]: {
        parameters: [...parameters, ...(path === '/contracts' ? listParameters : [])],
        security: [{ platformToken: scopes }],
        responses: {
          [status]: { description: 'What was asked for' },
          default: {
            description: 'An error',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Annotation-platform API', version: 'v1' },
    paths,
    components: {
      securitySchemes: { platformToken: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: { type: 'object', required: ['error', 'code', 'requestId'] } },
    },
  };
}

const listParameters = [
  { name: 'projectLinkId', in: 'query', schema: { type: 'string' } },
  { name: 'status', in: 'query', schema: { type: 'string', enum: ['active', 'ended'] } },
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200 } },
];
