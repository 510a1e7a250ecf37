import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import { requestTool } from '../tool-request.ts';
import { pick } from './answer.ts';
import type { HttpSettings, PageSettings } from './http-schema.ts';
import { type AnswerPage, firstPage, type NextPage, nextPage } from './pages.ts';
import { findSignOfMore } from './signs-of-more.ts';
import { expandJson, expandPath, expandText, type JsonTemplate, type TemplateValues } from './template.ts';

/** Makes the requests of the settings, each with a time-out and a size limit. */
export interface HttpApi {
  /**
   * @returns an answer without a body for a status that is `expected`
   * @throws AppError as `requestJson` does, and `invalid` for a value that a template cannot take
   */
  send(request: DeclaredRequest, call: HttpCall): Promise<HttpAnswer>;
  /** The items of every page, as `itemsOf` finds them. An `expected` status means no items. */
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
  /** What the call tries to do: "add the member". */
  purpose: string;
  values: TemplateValues;
  /** Statuses that are an answer and no error. */
  expected?: readonly number[] | undefined;
  isAnswerIgnored?: boolean;
  signal: AbortSignal;
}

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

  async function sendTo(url: string, request: DeclaredRequest, { values, ...call }: HttpCall): Promise<HttpAnswer> {
    const headers = toHeaders(request);
    return await requestTool({
      ...call,
      method: request.method,
      url,
      headers: Object.fromEntries(headers),
      ...(request.body !== undefined && { body: expandJson(request.body, values) }),
      secrets: [...token.values(), ...secretsIn(headers, values)],
    });
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
        // Only the first page may say that the group does not exist. A later missing page is an error.
        const answer = await sendTo(url, request, index === 0 ? call : { ...call, expected: [] });
        if (call.expected?.includes(answer.status)) return;
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

/** An incomplete list must not count as complete: the missing members would count as absent. */
function findNext(
  { items, pages }: { items: string; pages: PageSettings },
  page: AnswerPage,
  purpose: string,
): NextPage | undefined {
  const next = nextPage(pages, page);
  // A later page proves that the settings lead to further pages; the first page proves nothing.
  if (next !== undefined || page.index > 0) return next;
  const { answer, count } = page;
  // A search may answer one object. It is no page, and its fields are about the person.
  const isList = Array.isArray(pick(answer.body, items));
  const sign = findSignOfMore(answer, isList ? items : '', count);
  if (sign === null) return undefined;
  throw new AppError(
    'invalid',
    `Could not ${purpose}: the answer is not all, as ${sign}, and "pages" leads no further`,
  );
}

/** The token goes where the settings say; by default into the header that most tools want. */
function defaultHeaders({ token, headers }: HttpSettings): Record<string, string> {
  const isUsed = Object.values(headers).some((value) => value.includes('{token}'));
  return token === undefined || isUsed ? {} : { authorization: 'Bearer {token}' };
}

/** A tool that does not know the parameter for the next page repeats the first one for ever. */
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

/** A header may contain a credential, and tools quote the address in a path. */
function secretsIn(headers: Headers, values: TemplateValues): string[] {
  const words = [...headers.values()].flatMap((value) => [value, ...value.split(/\s+/)]);
  return [...words.filter(({ length }) => length >= shortestSecret), values.get('email') ?? ''];
}
