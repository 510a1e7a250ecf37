import { OpenapiDocument } from '../record-schema.ts';
import type { Deviation } from '../source.ts';
import type { Call } from './caller.ts';

/** The part of a value that Gangway relies on: a kind of text or number, one of some words, a list, or a record. */
export type Shape = 'text' | 'id' | 'number' | 'flag' | Set<string> | [Shape] | Fields;

/** A record. A `?` after a name: in an answer, the field may be missing or is only shown; in a request, it may be left out. */
export interface Fields {
  [name: string]: Shape;
}

export interface ReliedOperation {
  /** Such as `GET /contracts/{id}`, below the base URL. */
  operation: string;
  query?: Fields;
  body?: Fields;
  answer: Fields;
  /** Whether people get in and out without the operation. Then a change is only information. */
  isOptional?: boolean;
}

export const words = (...all: string[]): Shape => new Set(all);

/** Optional fields of one shape. */
export const maybe = (shape: Shape, ...names: string[]): Fields =>
  Object.fromEntries(names.map((name) => [`${name}?`, shape]));

// The same in both APIs of the marketplace.

export const contractStatus = words('active', 'ended');
export const reliedContract: Fields = {
  id: 'id',
  status: contractStatus,
  'jobId?': 'id',
  ...maybe('text', 'title', 'startDate', 'endDate', 'createdAt'),
};

export const endpointStatus = words('ACTIVE', 'DISABLED');
export const reliedEndpoint: Fields = {
  id: 'id',
  url: 'text',
  status: endpointStatus,
  eventTypes: ['text'],
  ...maybe('text', 'createdAt', 'disabledAt', 'disabledReason'),
};

export const reliedBudget: Fields = {
  contractId: 'id',
  state: words('OK', 'LOW', 'DEPLETED'),
  ...maybe('text', 'paymentType', 'lastUsageAt'),
  ...maybe('number', 'fundedVolume', 'fundedAmountUsd', 'consumedVolume', 'remainingVolume', 'consumedFraction'),
  'consumed?': maybe('number', 'seconds', 'hours', 'labels', 'tasks'),
};

export async function findDeviations(
  call: Call,
  reliedOperations: readonly ReliedOperation[],
  signal: AbortSignal,
): Promise<Deviation[]> {
  const purpose = 'read the description of the API';
  const document = await call({ path: '/openapi.json', purpose, answer: OpenapiDocument, isAnonymous: true, signal });
  return compareOpenapi(document, reliedOperations);
}

/**
 * Compares the marketplace's description of its API with what Gangway relies on. Pure and tolerant: additions are not
 * deviations, one fitting alternative is enough, and what is not described is reported as such. The path of the first
 * operation shows where in the document the API begins.
 */
export function compareOpenapi(document: OpenapiDocument, reliedOperations: readonly ReliedOperation[]): Deviation[] {
  const served = listServed(document, reliedOperations);
  return reliedOperations.flatMap((relied) => {
    const where = relied.operation;
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

function listServed(document: OpenapiDocument, [first]: readonly ReliedOperation[]): Map<string, Node> {
  const known = first?.operation.replace(/^\w+ /, '') ?? '';
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

function compareOperation(
  document: OpenapiDocument,
  { query = {}, body, answer }: ReliedOperation,
  operation: Node,
): Deviation[] {
  const sent = { document, isSent: true, isInformation: false };
  const parameters = toList(operation['parameters']).map((parameter) => resolve(document, parameter));
  const request = resolve(document, operation['requestBody']);
  const successes = Object.entries(resolve(document, operation['responses']))
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, response]) => schemasOf(resolve(document, response)));
  return [
    ...compareQuery(query, parameters, { ...sent, where: 'query' }),
    ...compareBody(body, request, { ...sent, where: 'body' }),
    ...compare(answer, successes.slice(0, 1), { ...sent, where: '', isSent: false }),
  ];
}

/** Compares the parameters like the fields of a record. */
function compareQuery(query: Fields, parameters: Node[], at: Position): Deviation[] {
  const named = parameters.filter((parameter) => parameter['in'] === 'query');
  if (named.length === 0) return Object.keys(query).length === 0 ? [] : compare(query, [], at);
  const properties = Object.fromEntries(named.map(({ name, schema }) => [name, schema ?? {}]));
  const required = named.filter((parameter) => parameter['required'] === true).map(({ name }) => name);
  return compare(query, [{ properties, required }], at);
}

function compareBody(body: Fields | undefined, request: Node, at: Position): Deviation[] {
  if (body !== undefined) return compare(body, schemasOf(request), at);
  return request['required'] === true ? [toDeviation(at, 'it is required now, but Gangway sends none')] : [];
}

/** The schema of a JSON body, whatever the parameters of its media type. */
function schemasOf({ content }: Node): unknown[] {
  const [, media] = Object.entries(isNode(content) ? content : {}).find(([type]) => /json|\*\/\*/i.test(type)) ?? [];
  return isNode(media) && isNode(media['schema']) ? [media['schema']] : [];
}

/** @param schemas alternatives, one of which must fit */
function compare(shape: Shape, schemas: unknown[], at: Position): Deviation[] {
  const seen = new Set<Node>();
  const parts = schemas
    .flatMap((schema) => partsOf(at.document, schema, combiners, seen))
    .filter(({ type }) => type !== 'null');
  if (!parts.some((part) => valueKeys.some((key) => key in part))) return [toUnknown(at, 'it is not described')];
  const types = new Set(valuesOf(parts, 'type').filter((type) => type !== 'null'));
  const fitting = typesOf(shape, at.isSent);
  if (types.size > 0 && !fitting.some((type) => types.has(type))) {
    return [toDeviation(at, `it is ${[...types].join(' or ')}, no longer ${fitting.join(' or ')}`)];
  }
  if (typeof shape === 'string') return [];
  if (shape instanceof Set) return compareWords(shape, parts, at);
  if (Array.isArray(shape)) return compare(shape[0], valuesOf(parts, 'items'), { ...at, where: `${at.where}[]` });
  const always = at.isSent && schemas.length === 1 ? partsOf(at.document, schemas[0], ['allOf']) : [];
  const unmet = new Set(valuesOf(always, 'required').filter((name) => !Object.hasOwn(shape, String(name))));
  return [
    ...[...unmet].map((name) => toDeviation(fieldOf(at, String(name)), 'it is required now, but not always sent')),
    ...compareFields(shape, parts, at),
  ];
}

/** The JSON types that fit. In an answer, an id may be a number, and a number may be text. */
function typesOf(shape: Shape, isSent: boolean): string[] {
  if (shape === 'flag') return ['boolean'];
  if (shape === 'id') return isSent ? ['string'] : ['string', 'integer', 'number'];
  if (shape === 'number') return isSent ? ['number', 'integer'] : ['number', 'integer', 'string'];
  if (shape === 'text' || shape instanceof Set) return ['string'];
  return [Array.isArray(shape) ? 'array' : 'object'];
}

function compareWords(words: Set<string>, parts: Node[], at: Position): Deviation[] {
  const known = parts.flatMap((part) => ('const' in part ? [part['const']] : toList(part['enum'])));
  // A part without words or references allows any word.
  const isOpen = parts.some((part) => !['const', 'enum', ...combiners, '$ref'].some((key) => key in part));
  const gone = [...words].filter((word) => !known.includes(word));
  if (isOpen || gone.length === 0) return [];
  return [toDeviation(at, `it no longer knows ${gone.map((word) => `"${word}"`).join(', ')}`)];
}

function compareFields(fields: Fields, parts: Node[], at: Position): Deviation[] {
  const described = parts.map(({ properties }) => properties).filter(isNode);
  if (described.length === 0) return [toUnknown(at, 'what is in it is not described')];
  return Object.entries(fields).flatMap(([key, shape]) => {
    const name = key.replace('?', '');
    const isInformation = at.isInformation || (!at.isSent && key !== name);
    const within = { ...fieldOf(at, name), isInformation };
    const schemas = described.filter((one) => Object.hasOwn(one, name)).map((one) => one[name]);
    return schemas.length === 0 ? [toDeviation(within, 'it is no longer there')] : compare(shape, schemas, within);
  });
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
