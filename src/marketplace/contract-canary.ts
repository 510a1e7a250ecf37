import type { OpenapiDocument } from './platform-schema.ts';
import { type RecordShape, type ReliedOperation, reliedOperations } from './relied-on.ts';
import { createSchemaReader, isNode, type SchemaReader, toList } from './schema-variants.ts';
import { compareShape } from './shape-deviations.ts';

/** A difference between the API description that the marketplace serves and what Gangway relies on. */
export interface Deviation {
  /** `GET /contracts: contracts[].status` */
  where: string;
  says: string;
  /** Whether something will not work; otherwise it is unknown or only information. */
  isFailure: boolean;
}

/**
 * Compares the API description that the marketplace serves with what Gangway relies on. Pure and
 * tolerant: additions and other ways to describe the same are no deviation; what is not described is
 * reported as such.
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
  /** The parameters of the operation and of its path. */
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

/** The described paths may contain a part of the base address. */
function findBase(paths: string[]): string {
  const [known = ''] = paths.filter((path) => path.endsWith('/installs/current'));
  return known.slice(0, -'/installs/current'.length);
}

/** The name of a placeholder does not matter. */
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
    .filter(({ in: location, name }) => location !== 'path' && !isOwnHeader(location, name));
  if (named.length === 0 && Object.keys(sent.firm).length > 0) {
    return [{ where: 'query', says: 'it is not described', isFailure: false }];
  }
  const properties = named.map(({ name, schema }) => [name, schema ?? {}]);
  const required = named.filter((one) => one['required'] === true).map(({ name }) => name);
  const schema = { properties: Object.fromEntries(properties), required };
  return compareShape(schemas, sent, schema, { where: 'query', isSent: true });
}

/** Every request has these anyway. */
function isOwnHeader(location: unknown, name: unknown): boolean {
  return location === 'header' && /^(authorization|accept|content-type)$/i.test(String(name));
}

function compareBody(schemas: SchemaReader, sent: RecordShape | undefined, body: unknown): Deviation[] {
  const schema = schemaOf(schemas, body);
  const at = { where: 'body', isSent: true };
  if (sent !== undefined) return compareShape(schemas, sent, schema, at);
  if (!isNode(body) || body['required'] !== true) return [];
  return [{ where: 'body', says: 'it is required now, and none is sent', isFailure: true }];
}

function compareAnswer(schemas: SchemaReader, shape: RecordShape, responses: unknown): Deviation[] {
  const described = Object.entries(isNode(responses) ? responses : {});
  const successes = described
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => schemaOf(schemas, schemas.resolve(response)));
  const schema = successes.find((one) => one !== undefined);
  return compareShape(schemas, shape, schema, { where: '', isSent: false });
}

/** The schema of a JSON body, whatever the parameters of its media type. */
function schemaOf({ resolve }: SchemaReader, body: unknown): unknown {
  const content = isNode(body) ? body['content'] : undefined;
  const [, media] = Object.entries(isNode(content) ? content : {}).find(([type]) => /json|\*\/\*/i.test(type)) ?? [];
  const schema = isNode(media) ? media['schema'] : undefined;
  return isNode(resolve(schema)) ? schema : undefined;
}
