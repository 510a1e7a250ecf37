import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import { requestTool } from '../tool-request.ts';
import { type AnswerPage, findSignOfMore, firstPage, type NextPage, nextPage, pick } from './answer.ts';
import {
  expandJson,
  expandPath,
  expandText,
  type HttpSettings,
  type ListRequest,
  type TemplateValues,
} from './http-schema.ts';

/** Makes the requests of the settings, each with a time-out and a size limit. */

type DeclaredRequest = Pick<ListRequest, 'method' | 'path' | 'query' | 'headers' | 'body'>;

export interface HttpCall {
  /** What the call tries to do: "add the member". */
  purpose: string;
  values: TemplateValues;
  /** Statuses that are answers, not errors. */
  expected?: readonly number[] | undefined;
  isAnswerIgnored?: boolean;
  signal: AbortSignal;
}

const maxPages = 1000;

/**
 * @returns an answer without a body for a status that is `expected`
 * @throws AppError as `requestJson` does, and `invalid` for a value that a template cannot take
 */
export async function send(
  settings: HttpSettings,
  request: DeclaredRequest,
  { values, ...call }: HttpCall,
  url = toUrl(settings, request, values),
): Promise<HttpAnswer> {
  const token = new Map(settings.token === undefined ? [] : [['token', settings.token]]);
  const headers = new Headers();
  for (const part of [defaultHeaders(settings), settings.headers, request.headers]) {
    for (const [name, value] of Object.entries(part)) headers.set(name, expandText(value, token));
  }
  return await requestTool({
    ...call,
    method: request.method,
    url,
    headers: Object.fromEntries(headers),
    ...(request.body !== undefined && { body: expandJson(request.body, values) }),
    secrets: [...token.values(), ...secretsIn(headers, values)],
  });
}

/** The items of every page, as `itemsOf` finds them. A status of `absent` means no items. */
export async function* readPages<Item>(
  settings: HttpSettings,
  request: ListRequest,
  call: HttpCall,
  itemsOf: (body: unknown) => Item[],
): AsyncGenerator<Item> {
  let next = firstPage(request.pages);
  let gathered = 0;
  let before = '[]';
  for (let index = 0; index < maxPages; index += 1) {
    const url = toUrl(settings, request, call.values, next);
    // Only the first page may say that the group does not exist. A later missing page is an error.
    const expected = index === 0 ? request.absent : [];
    const answer = await send(settings, request, { ...call, expected }, url);
    if (expected.includes(answer.status)) return;
    const items = itemsOf(answer.body);
    const text = JSON.stringify(items);
    // A tool that does not know the parameter for the next page repeats the first one for ever.
    if (text === before && items.length > 0) {
      throw new AppError('invalid', `Could not ${call.purpose}: a page is the same as the one before it`);
    }
    before = text;
    yield* items;
    gathered += items.length;
    next = findNext(request, { answer, url, count: items.length, gathered, index }, call.purpose);
    if (next === undefined) return;
  }
  throw new AppError('invalid', `Could not ${call.purpose}: over ${maxPages} pages`);
}

function toUrl(
  { url: root }: HttpSettings,
  { path, query }: DeclaredRequest,
  values: TemplateValues,
  next?: NextPage,
): string {
  if (next !== undefined && 'url' in next) return next.url;
  const url = new URL(`${root}${expandPath(path, values)}`);
  for (const [name, value] of Object.entries(query)) {
    url.searchParams.append(name, expandText(value, values));
  }
  if (next !== undefined) url.searchParams.set(...next.query);
  return url.href;
}

/** An incomplete list must not count as complete: the missing members would count as absent. */
function findNext({ items, pages }: ListRequest, page: AnswerPage, purpose: string): NextPage | undefined {
  const next = nextPage(pages, page);
  // A later page proves that the settings lead to further pages; the first page proves nothing.
  if (next !== undefined || page.index > 0) return next;
  const { answer, count } = page;
  // A search may answer one object. It is not a page, and its fields are about the person.
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

const shortestSecret = 6;

/** A header may contain a credential, and tools quote the address in a path. */
function secretsIn(headers: Headers, values: TemplateValues): string[] {
  const words = [...headers.values()].flatMap((value) => [value, ...value.split(/\s+/)]);
  return [...words.filter(({ length }) => length >= shortestSecret), values.get('email') ?? ''];
}
