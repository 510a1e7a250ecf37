import { AppError } from '../../domain/errors.ts';
import { createRestClient, type Schema } from '../../lib/rest-client.ts';
import { type ToolCall, type ToolClient, withSignal } from '../tool-request.ts';
import type { CvatPage, CvatSettings } from './cvat-schema.ts';

/** What every function needs during one call of the port. */
export interface Cvat {
  settings: CvatSettings;
  api: ToolClient;
}

export interface ListCall extends Pick<ToolCall<unknown>, 'path' | 'purpose' | 'secrets'> {
  query?: Record<string, string>;
  /** In JSON Logic. An item must match all of them. */
  filters?: readonly Rule[];
  /** The list begins after this id. */
  afterId?: number;
}

type Rule = Record<string, unknown>;

const pageSize = 100;
const maxPages = 1000;

export function createCvat(settings: CvatSettings): (signal: AbortSignal) => Cvat {
  const { url: baseUrl, token } = settings;
  // The only type that CVAT accepts: for `application/json` it answers 406.
  const headers = { accept: 'application/vnd.cvat+json' };
  const client = createRestClient({ baseUrl, authorization: { scheme: 'Bearer', token }, headers });
  return (signal) => ({ settings, api: withSignal(client, signal) });
}

export function withQuery(path: string, query: Record<string, string>): string {
  const search = new URLSearchParams(query).toString();
  return `${path}${search && `?${search}`}`;
}

/** Pages by id, not by number, so that no item is missed or repeated if the list changes meanwhile. */
export async function* listAll<Item extends { id: number }>(
  { api }: Cvat,
  answer: Schema<CvatPage<Item>>,
  { path, query, filters, afterId = 0, ...call }: ListCall,
): AsyncGenerator<Item> {
  let lastId = afterId;
  for (let number = 1; number <= maxPages; number += 1) {
    const page = withQuery(path, { ...query, ...toPageQuery(filters, lastId) });
    const { next, results } = await api.call({ ...call, path: page, answer });
    const isStuck = next !== null && results.length === 0;
    if (isStuck || !isInOrder(results, lastId)) throw wrongList(call, 'the list is not ordered by id');
    yield* results;
    if (next === null) return;
    lastId = results.at(-1)?.id ?? lastId;
  }
  throw wrongList(call, `the list has over ${maxPages} pages`);
}

/** The items in which a field has this value. */
export function isExactly(field: string, value: string | number): Rule {
  return { '==': [{ var: field }, value] };
}

/** The items in which a field is set. */
export function isSet(field: string): Rule {
  return { var: field };
}

function toPageQuery(filters: readonly Rule[] = [], lastId: number): Record<string, string> {
  const after: Rule[] = lastId === 0 ? [] : [{ '>': [{ var: 'id' }, lastId] }];
  const [first, ...more] = [...filters, ...after];
  const all = more.length === 0 ? first : { and: [first, ...more] };
  return { sort: 'id', page_size: String(pageSize), ...(all !== undefined && { filter: JSON.stringify(all) }) };
}

function isInOrder(results: { id: number }[], lastId: number): boolean {
  return results.every(({ id }, index) => id > (results[index - 1]?.id ?? lastId));
}

function wrongList({ purpose }: { purpose: string }, why: string): AppError {
  return new AppError('invalid', `Could not ${purpose}: ${why}`);
}
