import { AppError } from '../../domain/errors.ts';
import { type HttpAnswer, requestJson } from '../../lib/http-client.ts';
import { pick } from './answer.ts';
import type { HttpSettings, PageSettings } from './http-schema.ts';
import { type AnswerPage, firstPage, type NextPage, nextPage } from './pages.ts';
import { findSignOfMore } from './signs-of-more.ts';
import { expandJson, expandPath, expandText, type JsonTemplate, type TemplateValues } from './template.ts';

/** Makes the requests that are declared, each with an end and a bound. */
export interface HttpApi {
  /**
   * @returns null for a status that is `expected`
   * @throws AppError as `requestJson` does, and `invalid` for a value that a template cannot take
   */
  send(request: DeclaredRequest, call: HttpCall): Promise<HttpAnswer | null>;
  /** Every page; the items on each are what `itemsOf` says. Nothing for an `expected` status. */
  readPages<Item>(
    request: DeclaredRequest & { items: string; pages: PageSettings },
    call: HttpCall,
    itemsOf: (answer: HttpAnswer) => Item[],
  ): AsyncIterable<Item>;
}

interface DeclaredRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body?: JsonTemplate | undefined;
}

export interface HttpCall {
  /** What it is an attempt at: "add the member". */
  purpose: string;
  values: TemplateValues;
  /** Statuses that are an answer and no error. */
  expected?: readonly number[] | undefined;
  isAnswerIgnored?: boolean;
  signal: AbortSignal;
}

const timeoutMs = 15_000;
const maxBytes = 4 * 1024 * 1024;
const maxPages = 1000;

export function createHttpApi(settings: HttpSettings): HttpApi {
  const token = new Map(settings.token === undefined ? [] : [['token', settings.token]]);
  function toHeaders(request: DeclaredRequest): Headers {
    const headers = new Headers();
    for (const part of [defaultHeaders(settings), settings.headers, request.headers]) {
      for (const [name, value] of Object.entries(part)) headers.set(name, expandText(value, token));
    }
    return headers;
  }

  async function sendTo(url: string, request: DeclaredRequest, call: HttpCall) {
    const { purpose, values, signal, isAnswerIgnored = false } = call;
    const headers = toHeaders(request);
    try {
      return await requestJson({
        method: request.method,
        url,
        headers: Object.fromEntries(headers),
        purpose,
        ...(request.body !== undefined && { body: expandJson(request.body, values) }),
        secrets: [...token.values(), ...secretsIn(headers, values)],
        isAnswerIgnored,
        timeoutMs,
        maxBytes,
        signal,
      });
    } catch (error) {
      if (error instanceof AppError && call.expected?.includes(error.status ?? 0)) return null;
      throw error;
    }
  }

  function toUrl({ path, query }: DeclaredRequest, values: TemplateValues, next?: NextPage): string {
    if (next !== undefined && 'url' in next) return next.url;
    const url = new URL(`${settings.url}${expandPath(path, values)}`);
    for (const [name, value] of Object.entries(query)) {
      url.searchParams.append(name, expandText(value, values));
    }
    if (next !== undefined) url.searchParams.set(...next.query);
    return url.href;
  }

  return {
    send: (request, call) => sendTo(toUrl(request, call.values), request, call),

    async *readPages(request, call, itemsOf) {
      let next = firstPage(request.pages);
      let gathered = 0;
      const refuseRepeat = createRepeatGuard(call.purpose);
      for (let index = 0; index < maxPages; index += 1) {
        const url = toUrl(request, call.values, next);
        // That there is no such group, the first page says; a later one that is missing is an error.
        const answer = await sendTo(url, request, index === 0 ? call : { ...call, expected: [] });
        if (answer === null) return;
        const items = itemsOf(answer);
        refuseRepeat(items);
        yield* items;
        gathered += items.length;
        const page = { answer, url, count: items.length, gathered, index };
        next = findNext(request, page, call.purpose);
        if (next === undefined) return;
      }
      throw new AppError('invalid', `Could not ${call.purpose}: over ${maxPages} pages`);
    },
  };
}

/** What is not all must not be taken for all: whoever is missing would count as absent. */
function findNext(
  { items, pages }: { items: string; pages: PageSettings },
  page: AnswerPage,
  purpose: string,
): NextPage | undefined {
  const next = nextPage(pages, page);
  // A later page proves that the settings lead on; the first proves nothing.
  if (next !== undefined || page.index > 0) return next;
  const { answer, count } = page;
  // One object, where one person is looked for, is no page; what stands in it is about them.
  const isList = Array.isArray(pick(answer.body, items));
  const sign = findSignOfMore(answer, isList ? items : '', count);
  if (sign === null) return undefined;
  throw new AppError(
    'invalid',
    `Could not ${purpose}: the answer is not all, as ${sign}, and "pages" leads no further`,
  );
}

/** The token goes where the settings say, and where they say nothing, where most tools want it. */
function defaultHeaders({ token, headers }: HttpSettings): Record<string, string> {
  const isPlaced = Object.values(headers).some((value) => value.includes('{token}'));
  return token === undefined || isPlaced ? {} : { authorization: 'Bearer {token}' };
}

/** A tool that does not know the parameter for the next page answers the first one for ever. */
function createRepeatGuard(purpose: string): (items: unknown[]) => void {
  let before = '[]';
  return (items) => {
    const text = JSON.stringify(items);
    if (text === before && items.length > 0) {
      throw new AppError('invalid', `Could not ${purpose}: a page is the same as the one before it`);
    }
    before = text;
  };
}

const shortestSecret = 6;

/** What a header holds may be a credential, and tools quote the address that stands in a path. */
function secretsIn(headers: Headers, values: TemplateValues): string[] {
  const words = [...headers.values()].flatMap((value) => [value, ...value.split(/\s+/)]);
  return [...words.filter(({ length }) => length >= shortestSecret), values.get('email') ?? ''];
}
