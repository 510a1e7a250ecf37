import type { OpenapiDocument } from './platform-schema.ts';
import { type RecordShape, type ReliedOperation, reliedOperations } from './relied-on.ts';
import { createSchemaReader, isNode, type SchemaReader, toList } from './schema-variants.ts';
import { compareShape } from './shape-deviations.ts';

/** Where the served contract of the marketplace is not what is relied on. */
export interface Deviation {
  /** `GET /contracts: contracts[].status` */
  where: string;
  says: string;
  /** Whether something will not work; otherwise it is for knowing, or cannot be told. */
  isFailure: boolean;
}

/**
 * Compares the contract that the marketplace serves with what is relied on. Pure, and tolerant: what
 * is new, or said in another way, is none; what is not described at all is told as that.
 */
export function findDeviations(document: OpenapiDocument): Deviation[] {
  const schemas = createSchemaReader(document);
  const served = listServed(document, schemas);
  return reliedOperations.flatMap((relied) => {
    const name = `${relied.method} ${relied.path}`;
    const operation = served.get(toKey(relied.method, relied.path));
    if (operation === undefined) {
      return [{ where: name, says: 'this operation is no longer there', isFailure: true }];
    }
    return compareOperation(schemas, relied, operation).map((deviation) => ({
      ...deviation,
      where: deviation.where === '' ? name : `${name}: ${deviation.where}`,
    }));
  });
}

interface ServedOperation {
  operation: Record<string, unknown>;
  /** Those of the operation and of its path. */
  parameters: unknown[];
}

function listServed(document: OpenapiDocument, { resolve }: SchemaReader): Map<string, ServedOperation> {
  const served = new Map<string, ServedOperation>();
  const base = findBase(Object.keys(document.paths));
  for (const [path, given] of Object.entries(document.paths)) {
    const methods = resolve(given);
    if (!isNode(methods) || !path.startsWith(base)) continue;
    for (const [method, operation] of Object.entries(methods)) {
      if (!isNode(operation)) continue;
      const parameters = [...toList(methods['parameters']), ...toList(operation['parameters'])];
      const key = toKey(method, path.slice(base.length));
      served.set(key, { operation, parameters: parameters.map(resolve) });
    }
  }
  return served;
}

/** Paths may be told with what is part of the base address here. */
function findBase(paths: string[]): string {
  const [known = ''] = paths.filter((path) => path.endsWith('/installs/current'));
  return known.slice(0, -'/installs/current'.length);
}

/** What a placeholder is called does not matter. */
function toKey(method: string, path: string): string {
  const plain = path.replaceAll(/\{[^}]*\}/g, '{}').replace(/\/$/, '');
  return `${method.toUpperCase()} ${plain}`;
}

function compareOperation(
  schemas: SchemaReader,
  { query, body, answer }: ReliedOperation,
  { operation, parameters }: ServedOperation,
): Deviation[] {
  return [
    ...compareParameters(schemas, query, parameters),
    ...compareBody(schemas, body, schemas.resolve(operation['requestBody'])),
    ...compareAnswer(schemas, answer, operation['responses']),
  ];
}

/** A query is compared as if it were a record of its parameters. */
function compareParameters(
  schemas: SchemaReader,
  sent: RecordShape = { is: 'record', firm: {}, loose: {} },
  parameters: unknown[],
): Deviation[] {
  const named = parameters
    .filter(isNode)
    .filter(({ in: place, name }) => place !== 'path' && !isOwnHeader(place, name));
  if (named.length === 0 && Object.keys(sent.firm).length > 0) {
    return [{ where: 'query', says: 'it is not described', isFailure: false }];
  }
  const properties = named.map(({ name, schema }) => [name, schema ?? {}]);
  const required = named.filter((one) => one['required'] === true).map(({ name }) => name);
  const schema = { properties: Object.fromEntries(properties), required };
  return compareShape(schemas, sent, schema, { where: 'query', isSent: true });
}

/** What every request has anyway. */
function isOwnHeader(place: unknown, name: unknown): boolean {
  return place === 'header' && /^(authorization|accept|content-type)$/i.test(String(name));
}

function compareBody(schemas: SchemaReader, sent: RecordShape | undefined, body: unknown): Deviation[] {
  const schema = schemaOf(schemas, body);
  const at = { where: 'body', isSent: true };
  if (sent !== undefined) return compareShape(schemas, sent, schema, at);
  if (!isNode(body) || body['required'] !== true) return [];
  return [{ where: 'body', says: 'one is required now, and none is sent', isFailure: true }];
}

function compareAnswer(schemas: SchemaReader, shape: RecordShape, responses: unknown): Deviation[] {
  const described = Object.entries(isNode(responses) ? responses : {});
  const successes = described
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => schemaOf(schemas, schemas.resolve(response)));
  const schema = successes.find((one) => one !== undefined);
  return compareShape(schemas, shape, schema, { where: '', isSent: false });
}

/** Of a body as JSON, whatever parameters its media type has. */
function schemaOf({ resolve }: SchemaReader, body: unknown): unknown {
  const content = isNode(body) ? body['content'] : undefined;
  const [, media] = Object.entries(isNode(content) ? content : {}).find(([type]) => /json|\*\/\*/i.test(type)) ?? [];
  const schema = isNode(media) ? media['schema'] : undefined;
  return isNode(resolve(schema)) ? schema : undefined;
}
