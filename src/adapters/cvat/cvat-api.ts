import { AppError } from '../../domain/errors.ts';
import { createRestClient, type Schema } from '../../lib/rest-client.ts';
import type { CvatPage, CvatSettings } from './cvat-schema.ts';

/** Makes requests to CVAT with the token, each with a time-out and a size limit. */
export interface CvatApi {
  /** @throws AppError as `RestClient.call` */
  ask<Answer>(answer: Schema<Answer>, call: CvatCall): Promise<Answer>;
  /** For a request whose answer is not needed. */
  send(call: CvatCall): Promise<void>;
  /**
   * Every page, in the order of the ids. Each page begins after the last id and not at a page number, so
   * that no item is missed or repeated if the list changes meanwhile.
   */
  list<Item extends { id: number }>(answer: Schema<CvatPage<Item>>, call: CvatCall): AsyncIterable<Item>;
  /** A file, in pieces as they arrive. */
  download(call: CvatCall): AsyncIterable<Uint8Array>;
}

export interface CvatCall {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path after `url`, with encoded ids. */
  path: string;
  query?: Record<string, string>;
  /** The rules of a list in JSON Logic. An item must match all of them. */
  filters?: readonly Rule[];
  /** A list begins after this id. */
  afterId?: number;
  body?: unknown;
  /** What the call tries to do: "add the member". */
  purpose: string;
  /** Addresses that errors must not quote. */
  secrets?: readonly string[];
  signal: AbortSignal;
}

type Rule = Record<string, unknown>;

const pageSize = 100;
const maxPages = 1000;

const fileTimeoutMs = 600_000;
/** About four million events. */
const maxFileBytes = 2 * 1024 ** 3;

/** The only type that CVAT accepts: for `application/json` it answers 406. */
const answers = 'application/vnd.cvat+json';

export function createCvatApi({ url, token }: CvatSettings): CvatApi {
  const client = createRestClient({
    baseUrl: url,
    authorization: { scheme: 'Bearer', token },
    headers: { accept: answers },
  });

  const ask: CvatApi['ask'] = (answer, call) => client.call({ ...toRestCall(call), answer });

  return {
    ask,
    send: (call) => client.call(toRestCall(call)),

    async *list(answer, call) {
      let { afterId: lastId = 0 } = call;
      for (let number = 1; number <= maxPages; number += 1) {
        const query = { ...call.query, ...toPageQuery(call.filters, lastId) };
        const { next, results } = await ask(answer, { ...call, query });
        const isGoingOn = next === null || results.length > 0;
        if (!isGoingOn || !isInOrder(results, lastId)) {
          throw wrongList(call, 'it is not in the order of the ids');
        }
        yield* results;
        if (next === null) return;
        lastId = results.at(-1)?.id ?? lastId;
      }
      throw wrongList(call, `it has over ${maxPages} pages`);
    },

    download: (call) =>
      client.download({
        ...toRestCall(call),
        headers: { accept: '*/*' },
        timeoutMs: fileTimeoutMs,
        maxBytes: maxFileBytes,
      }),
  };
}

function toRestCall({ path, query = {}, filters: _, afterId: __, ...call }: CvatCall) {
  const search = new URLSearchParams(query).toString();
  return { ...call, path: `${path}${search && `?${search}`}` };
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

function wrongList({ purpose }: CvatCall, why: string): AppError {
  return new AppError('invalid', `Could not ${purpose}: ${why}`);
}
