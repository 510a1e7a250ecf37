import { toJsonSchema } from './contract/json-schema.ts';
import { methodOf, type Operation, pathOf } from './contract/operation.ts';
import type { OpenapiDocument } from './contract/records.ts';
import type { Deviation } from './source.ts';

/** An operation that a source calls, and what it relies on beyond the fields that the contract requires. */
export interface Reliance {
  operation: Operation;
  /** The fields that are sent, with a `?` if not always; by default all but the cursor, as the contract requires them. */
  sends?: readonly string[] | undefined;
  /**
   * The fields of the answer that are read besides those that are required, such as `contracts.title`, each with what is in
   * it; all but the paging by default.
   */
  reads?: readonly string[] | undefined;
  /** The fields of the answer that are needed although a record without them is accepted. */
  vital?: readonly string[] | undefined;
  /** Whether people get in and out without the operation. Then a change is only information. */
  isOptional?: boolean;
}

/**
 * Compares the marketplace's description of its API with what Gangway relies on. Pure and tolerant: additions are not
 * deviations, one fitting alternative is enough, and what is not described is reported as such. The path of the first
 * operation shows where in the document the API begins.
 */
export function compareOpenapi(document: OpenapiDocument, reliedOn: readonly Reliance[]): Deviation[] {
  const served = listServed(document, reliedOn);
  return reliedOn.flatMap((relied) => {
    const { address: where } = relied.operation;
    const operation = served.get(toKey(where));
    const isFailure = relied.isOptional !== true;
    if (operation === undefined) return [{ where, says: 'this operation no longer exists', isFailure }];
    return compareOperation(document, relied, operation).map((deviation) => ({
      ...deviation,
      isFailure: isFailure && deviation.isFailure,
      where: deviation.where === '' ? where : `${where}: ${deviation.where}`,
    }));
  });
}

type Node = Record<string, unknown>;

const combiners = ['allOf', 'anyOf', 'oneOf'];
const valueKeys = ['type', 'enum', 'const', 'properties', 'items'];

function listServed(document: OpenapiDocument, [first]: readonly Reliance[]): Map<string, Node> {
  const known = first === undefined ? '' : pathOf(first.operation);
  const found = Object.keys(document.paths).find((path) => path.endsWith(known)) ?? known;
  const base = found.slice(0, found.length - known.length);
  const paths = Object.entries(document.paths).filter(([path]) => path.startsWith(base));
  return new Map(
    paths.flatMap(([path, item]) =>
      Object.entries(resolve(document, item))
        .filter((entry): entry is [string, Node] => isNode(entry[1]))
        .map(([method, operation]) => [toKey(`${method.toUpperCase()} ${path.slice(base.length)}`), operation]),
    ),
  );
}

/** Ignores the names of placeholders. */
function toKey(operation: string): string {
  return operation.replaceAll(/\{[^{}]*\}/g, '{}').replace(/\/$/, '');
}

interface Position {
  document: OpenapiDocument;
  /** Such as `contracts[].status`; empty for the whole answer. */
  where: string;
  /** In a request. */
  isSent: boolean;
  /** Whether a change is only information. */
  isInformation: boolean;
}

function compareOperation(document: OpenapiDocument, relied: Reliance, operation: Node): Deviation[] {
  const sent = { document, isSent: true, isInformation: false };
  const parameters = toList(operation['parameters']).map((parameter) => resolve(document, parameter));
  const request = resolve(document, operation['requestBody']);
  const successes = Object.entries(resolve(document, operation['responses']))
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, response]) => schemasOf(resolve(document, response)));
  const { query, body, answer } = shapesOf(relied);
  return [
    ...compareQuery(query, parameters, { ...sent, where: 'query' }),
    ...compareBody(body, request, { ...sent, where: 'body' }),
    ...compare(answer, successes.slice(0, 1), { ...sent, where: '', isSent: false }),
  ];
}

const paging = ['cursor', 'nextCursor', 'hasMore'];

/** The schemas of what is sent and read. */
export function shapesOf({ operation, sends, reads, vital = [] }: Reliance) {
  const always = sends?.filter((name) => !name.endsWith('?')) ?? [];
  const named = sends?.map((name) => name.replace('?', ''));
  const sent = narrow(toJsonSchema(operation.in), '', named, always);
  const isInQuery = ['GET', 'DELETE'].includes(methodOf(operation));
  const hasBody = !isInQuery && fieldsOf(sent).length > 0;
  return {
    query: isInQuery ? sent : { type: 'object', properties: {} },
    body: hasBody ? sent : undefined,
    answer: narrow(toJsonSchema(operation.out), '', reads, vital),
  };
}

/** Only the named and the required fields, and null is no alternative. The vital ones become required. */
function narrow(schema: Node, at: string, named: readonly string[] | undefined, vital: readonly string[]): Node {
  const whole =
    toList(schema['anyOf'])
      .filter(isNode)
      .find(({ type }) => type !== 'null') ?? schema;
  const { items } = whole;
  if (isNode(items)) return { ...whole, items: narrow(items, at, named, vital) };
  if (!isNode(whole['properties'])) return whole;
  const required = new Set(toList(whole['required']));
  const fields = fieldsOf(whole).flatMap(([name, field]) => {
    const path = at === '' ? name : `${at}.${name}`;
    const isWithin = (one: string) => one === path || one.startsWith(`${path}.`);
    if (vital.some(isWithin)) required.add(name);
    const isNamed = named?.some((one) => isWithin(one) || path.startsWith(`${one}.`)) ?? !paging.includes(name);
    return required.has(name) || isNamed ? [[name, narrow(field, path, named, vital)] as const] : [];
  });
  return { ...whole, properties: Object.fromEntries(fields), required: [...required] };
}

/** The fields of the schema of a record. */
function fieldsOf({ properties }: Node): [string, Node][] {
  return Object.entries(isNode(properties) ? properties : {}).filter((entry): entry is [string, Node] =>
    isNode(entry[1]),
  );
}

/** Compares the parameters like the fields of a record. */
function compareQuery(query: Node, parameters: Node[], at: Position): Deviation[] {
  const named = parameters.filter((parameter) => parameter['in'] === 'query');
  if (named.length === 0) return fieldsOf(query).length === 0 ? [] : compare(query, [], at);
  const properties = Object.fromEntries(named.map(({ name, schema }) => [name, schema ?? {}]));
  const required = named.filter((parameter) => parameter['required'] === true).map(({ name }) => name);
  return compare(query, [{ properties, required }], at);
}

function compareBody(body: Node | undefined, request: Node, at: Position): Deviation[] {
  if (body !== undefined) return compare(body, schemasOf(request), at);
  return request['required'] === true ? [toDeviation(at, 'it is required now, but Gangway sends none')] : [];
}

/** The schema of a JSON body, whatever the parameters of its media type. */
function schemasOf({ content }: Node): unknown[] {
  const [, media] = Object.entries(isNode(content) ? content : {}).find(([type]) => /json|\*\/\*/i.test(type)) ?? [];
  return isNode(media) && isNode(media['schema']) ? [media['schema']] : [];
}

/** @param schemas alternatives, one of which must fit */
function compare(shape: Node, schemas: unknown[], at: Position): Deviation[] {
  const fitting = typesOf(shape, at.isSent);
  if (fitting.length === 0) return [];
  const seen = new Set<Node>();
  const parts = schemas
    .flatMap((schema) => partsOf(at.document, schema, combiners, seen))
    .filter(({ type }) => type !== 'null');
  if (!parts.some((part) => valueKeys.some((key) => key in part))) return [toUnknown(at, 'it is not described')];
  const types = new Set(valuesOf(parts, 'type').filter((type) => type !== 'null'));
  if (types.size > 0 && !fitting.some((type) => types.has(type))) {
    return [toDeviation(at, `it is ${[...types].join(' or ')}, no longer ${fitting.join(' or ')}`)];
  }
  const { enum: words, items } = shape;
  // Of a word that is only shown, nothing follows.
  if (Array.isArray(words)) return at.isInformation ? [] : compareWords(words, parts, at);
  if (isNode(items)) return compare(items, valuesOf(parts, 'items'), { ...at, where: `${at.where}[]` });
  return isNode(shape['properties']) ? compareRecord(shape, schemas, parts, at) : [];
}

/** The JSON types that fit; none if anything does. In an answer, an id may be a number, and a number may be text. */
function typesOf({ type, format }: Node, isSent: boolean): unknown[] {
  const types = [type ?? []].flat().filter((one) => one !== 'null');
  if (types.includes('integer') || types.includes('number'))
    return ['number', 'integer', ...(isSent ? [] : ['string'])];
  return format === 'id' && !isSent ? ['string', 'integer', 'number'] : types;
}

function compareWords(words: unknown[], parts: Node[], at: Position): Deviation[] {
  const known = parts.flatMap((part) => ('const' in part ? [part['const']] : toList(part['enum'])));
  // A part without words or references allows any word.
  const isOpen = parts.some((part) => !['const', 'enum', ...combiners, '$ref'].some((key) => key in part));
  const gone = words.filter((word) => word !== null && !known.includes(word));
  if (isOpen || gone.length === 0) return [];
  return [toDeviation(at, `it no longer knows ${gone.map((word) => `"${word}"`).join(', ')}`)];
}

function compareRecord(shape: Node, schemas: unknown[], parts: Node[], at: Position): Deviation[] {
  const needed = new Set(toList(shape['required']));
  const always = at.isSent && schemas.length === 1 ? partsOf(at.document, schemas[0], ['allOf']) : [];
  const unmet = new Set(valuesOf(always, 'required').filter((name) => !needed.has(name)));
  const described = parts.map(({ properties }) => properties).filter(isNode);
  if (described.length === 0) return [toUnknown(at, 'what is in it is not described')];
  const ofFields = fieldsOf(shape).flatMap(([name, field]) => {
    const isInformation = at.isInformation || (!at.isSent && !needed.has(name));
    const within = { ...fieldOf(at, name), isInformation };
    const found = described.filter((one) => Object.hasOwn(one, name)).map((one) => one[name]);
    return found.length === 0 ? [toDeviation(within, 'it is no longer there')] : compare(field, found, within);
  });
  return [
    ...[...unmet].map((name) => toDeviation(fieldOf(at, String(name)), 'it is required now, but not always sent')),
    ...ofFields,
  ];
}

function fieldOf(at: Position, name: string): Position {
  return { ...at, where: at.where === '' ? name : `${at.where}.${name}` };
}

function toDeviation({ where, isInformation }: Position, says: string): Deviation {
  return { where, says, isFailure: !isInformation };
}

function toUnknown({ where }: Position, says: string): Deviation {
  return { where, says, isFailure: false };
}

/** The schema and everything it refers to by `$ref` or one of the keys. */
function partsOf(document: OpenapiDocument, schema: unknown, keys: string[], seen = new Set<Node>()): Node[] {
  if (!isNode(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const within = [follow(document, schema['$ref']), ...keys.flatMap((key) => toList(schema[key]))];
  return [schema, ...within.flatMap((part) => partsOf(document, part, keys, seen))];
}

/** The end of a chain of `$ref`s. */
function resolve(document: OpenapiDocument, node: unknown): Node {
  return partsOf(document, node, []).at(-1) ?? {};
}

/** Follows a JSON pointer into the document, such as `#/components/schemas/Contract`. */
function follow(document: OpenapiDocument, ref: unknown): unknown {
  if (typeof ref !== 'string' || !ref.startsWith('#/')) return undefined;
  return ref
    .slice(2)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, name) => (isNode(at) && Object.hasOwn(at, name) ? at[name] : undefined), document);
}

function valuesOf(parts: Node[], key: string): unknown[] {
  return parts.flatMap((part) => part[key] ?? []);
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
