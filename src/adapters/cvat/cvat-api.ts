import { AppError } from '../../domain/errors.ts';
import { type HttpRequest, requestBytes, requestJson } from '../../lib/http-client.ts';
import type { CvatPage, CvatSettings, Reader } from './cvat-schema.ts';

/** Makes requests to CVAT, each with an end and a bound, with the token and to this server only. */
export interface CvatApi {
  /** @throws AppError as `requestJson` does, and `invalid` for an answer that is not CVAT's */
  ask<Answer>(read: Reader<Answer>, call: CvatCall): Promise<Answer>;
  /** Where the answer says no more than that it was done. */
  tell(call: CvatCall): Promise<void>;
  /**
   * Every page, in the order of the ids. Each page goes on after the last id and not at a number, so
   * that a list that changes meanwhile neither leaves anybody out nor shows them twice.
   */
  list<Item extends { id: number }>(read: Reader<CvatPage<Item>>, call: CvatCall): AsyncIterable<Item>;
  /** A file as it comes in. */
  download(call: CvatCall): AsyncIterable<Uint8Array>;
}

export interface CvatCall {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `url`; ids in it are encoded already. */
  path: string;
  query?: Record<string, string>;
  /** Of a list, in JSON Logic: all of them. */
  filters?: readonly Rule[];
  /** Where a list goes on: only what has a greater id. */
  afterId?: number;
  body?: unknown;
  /** What it is an attempt at: "add the member". */
  purpose: string;
  /** Addresses that errors must not quote. */
  secrets?: readonly string[];
  signal: AbortSignal;
}

type Rule = Record<string, unknown>;

const timeoutMs = 15_000;
const maxBytes = 4 * 1024 * 1024;
const pageSize = 100;
const maxPages = 1000;

const fileTimeoutMs = 600_000;
/** Some four million events. */
const maxFileBytes = 2 * 1024 ** 3;

/** CVAT answers nothing else: `application/json` is 406. */
const answers = 'application/vnd.cvat+json';

export function createCvatApi({ url, token }: CvatSettings): CvatApi {
  function toRequest(call: CvatCall, accept: string): HttpRequest {
    const { method = 'GET', path, query = {}, secrets = [], body, purpose, signal } = call;
    const search = new URLSearchParams(query).toString();
    return {
      method,
      purpose,
      signal,
      timeoutMs,
      maxBytes,
      url: `${url}${path}${search && `?${search}`}`,
      headers: { accept, authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
      secrets: [token, ...secrets],
    };
  }

  async function ask<Answer>(read: Reader<Answer>, call: CvatCall): Promise<Answer> {
    const { body } = await requestJson(toRequest(call, answers));
    return read(body, call.purpose);
  }

  return {
    ask,

    async tell(call) {
      await requestJson({ ...toRequest(call, answers), isAnswerIgnored: true });
    },

    async *list(read, call) {
      let { afterId: lastId = 0 } = call;
      for (let number = 1; number <= maxPages; number += 1) {
        const query = { ...call.query, ...toPageQuery(call.filters, lastId) };
        const { next, results } = await ask(read, { ...call, query });
        const isGoingOn = next === null || results.length > 0;
        if (!isGoingOn || !isInOrder(results, lastId)) {
          throw wrongList(call, 'it does not go on in the order of the ids');
        }
        yield* results;
        if (next === null) return;
        lastId = results.at(-1)?.id ?? lastId;
      }
      throw wrongList(call, `it has over ${maxPages} pages`);
    },

    download: (call) => requestBytes({ ...toRequest(call, '*/*'), timeoutMs: fileTimeoutMs, maxBytes: maxFileBytes }),
  };
}

/** One field of a list, exactly. */
export function isExactly(field: string, value: string | number): Rule {
  return { '==': [{ var: field }, value] };
}

/** Those in which one field is set. */
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
