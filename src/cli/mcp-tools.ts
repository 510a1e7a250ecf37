import type { OperationName, RemoteGiven } from './session.ts';

/** Operations of the API that only read, as tools of the Model Context Protocol. Pure. */

/** A tool as the protocol lists it. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[]; additionalProperties: false };
  annotations: {
    title: string;
    readOnlyHint: true;
    destructiveHint: false;
    idempotentHint: true;
    openWorldHint: false;
  };
}

export interface BoundTool {
  tool: McpTool;
  /** The request that a call with these arguments is. Arguments that the tool does not have are left out. */
  toRequest(given: Readonly<Record<string, unknown>>): { operation: OperationName; given: RemoteGiven };
}

/** As much of the document of the API as is read here. */
export interface ApiDocument {
  paths: Record<string, Record<string, DescribedOperation>>;
}

interface DescribedOperation {
  operationId: string;
  summary: string;
  'x-role': string;
  parameters?: { name: string; in: string; required?: boolean; schema: object; description?: string }[];
}

/** What viewers may read: nothing that acts, and nothing that only operators may see. */
export function toTools({ paths }: ApiDocument): Map<string, BoundTool> {
  const tools = Object.entries(paths).flatMap(([path, { get }]) =>
    get === undefined || get['x-role'] !== 'viewer' ? [] : [[get.operationId, toTool(path, get)] as const],
  );
  return new Map(tools);
}

function toTool(path: string, { operationId, summary, parameters = [] }: DescribedOperation): BoundTool {
  const named = (where: string) => parameters.filter((one) => one.in === where).map(({ name }) => name);
  return {
    tool: {
      name: operationId,
      description: summary,
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries(
          parameters.map(({ name, schema, description }) => [name, { ...schema, ...(description && { description }) }]),
        ),
        required: parameters.filter(({ required }) => required === true).map(({ name }) => name),
        additionalProperties: false,
      },
      annotations: {
        title: summary,
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    },
    toRequest: (given) => ({
      operation: `GET ${path}` as OperationName,
      given: { params: pick(given, named('path')), query: pick(given, named('query')) },
    }),
  };
}

function pick(given: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> {
  const found = names.filter((name) => given[name] !== undefined && given[name] !== null);
  return Object.fromEntries(found.map((name) => [name, String(given[name])]));
}
