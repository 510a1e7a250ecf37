import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import { requestTool } from '../tool-request.ts';
import { isObject } from '../values.ts';
import {
  expandJson,
  expandPath,
  expandText,
  type HttpSettings,
  type ListRequest,
  type PageSettings,
  type TemplateValues,
} from './http-schema.ts';

/** The tool during one call of the port. */
export interface HttpTool {
  settings: HttpSettings;
  signal: AbortSignal;
}

type DeclaredRequest = Pick<ListRequest, 'method' | 'path' | 'query' | 'headers' | 'body'>;

export interface HttpCall {
  /** For errors: "add the member". */
  purpose: string;
  values: TemplateValues;
  /** Statuses that are answers, not errors. */
  expected?: readonly number[] | undefined;
  isAnswerIgnored?: boolean;
}

const maxPages = 1000;

/**
 * @returns an answer without a body for a status that is `expected`
 * @throws AppError as `requestJson` does, and `invalid` for a value that a template cannot take
 */
export async function send(
  { settings, signal }: HttpTool,
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
    signal,
    method: request.method,
    url,
    headers: Object.fromEntries(headers),
    ...(request.body !== undefined && { body: expandJson(request.body, values) }),
    secrets: [...token.values(), ...secretsIn(headers, values)],
  });
}

/** The items of all pages. A status in `absent` means no items. */
export async function* readPages<Item>(
  tool: HttpTool,
  request: ListRequest,
  call: HttpCall,
  itemsOf: (body: unknown) => Item[],
): AsyncGenerator<Item> {
  let next = firstPage(request.pages);
  let gathered = 0;
  let before = '[]';
  for (let index = 0; index < maxPages; index += 1) {
    const url = toUrl(tool.settings, request, call.values, next);
    // Only the first page may say that the group does not exist. Any later missing page is an error.
    const expected = index === 0 ? request.absent : [];
    const answer = await send(tool, request, { ...call, expected }, url);
    if (expected.includes(answer.status)) return;
    const items = itemsOf(answer.body);
    const text = JSON.stringify(items);
    // A tool that ignores the parameter for the next page would repeat the first page for ever.
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

/** @throws AppError `invalid` for an incomplete list, because its missing members would be taken for absent */
function findNext({ items, pages }: ListRequest, page: AnswerPage, purpose: string): NextPage | undefined {
  const next = nextPage(pages, page);
  // A second page proves that the settings of "pages" work. After a single page, they may be wrong.
  if (next !== undefined || page.index > 0) return next;
  const { answer, count } = page;
  // If a search answers one object, its fields are about the person, not about the list.
  const isList = Array.isArray(pick(answer.body, items));
  const sign = findSignOfMore(answer, isList ? items : '', count);
  if (sign === null) return undefined;
  throw new AppError(
    'invalid',
    `Could not ${purpose}: the list is incomplete, as ${sign}, but "pages" finds no next page`,
  );
}

/** By default, the token is sent in the header that most tools expect. */
function defaultHeaders({ token, headers }: HttpSettings): Record<string, string> {
  const isUsed = Object.values(headers).some((value) => value.includes('{token}'));
  return token === undefined || isUsed ? {} : { authorization: 'Bearer {token}' };
}

const shortestSecret = 6;

/** Headers may have credentials, and tools quote addresses. */
function secretsIn(headers: Headers, values: TemplateValues): string[] {
  const words = [...headers.values()].flatMap((value) => [value, ...value.split(/\s+/)]);
  return [...words.filter(({ length }) => length >= shortestSecret), values.get('email') ?? ''];
}

/** The value at a path such as `data.0.user`. An empty path means the whole answer. */
export function pick(answer: unknown, path: string): unknown {
  if (path === '') return answer;
  return path.split('.').reduce<unknown>(childOf, answer);
}

function childOf(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return (parent as Record<string, unknown>)[key];
}

interface AnswerPage {
  answer: HttpAnswer;
  url: string;
  /** The number of items on this page. */
  count: number;
  /** The number of items on all pages so far. */
  gathered: number;
  /** The number of the page, from 0. */
  index: number;
}

/** Where the next page is: one more parameter of the query, or another URL of the same tool. */
type NextPage = { query: [name: string, value: string] } | { url: string };

function firstPage(settings: PageSettings): NextPage | undefined {
  return settings.by === 'page' ? { query: [settings.query, String(settings.first)] } : undefined;
}

/**
 * @returns undefined at the end of the list
 * @throws AppError `invalid` for a link to another server or an invalid total, `unavailable` for a list that ended before
 * its total
 */
function nextPage(settings: PageSettings, page: AnswerPage): NextPage | undefined {
  const { body, headers } = page.answer;
  switch (settings.by) {
    case 'none':
      return undefined;
    case 'page':
      if (hasEnded(settings.total, page)) return undefined;
      return { query: [settings.query, String(settings.first + page.index + 1)] };
    case 'offset':
      if (hasEnded(settings.total, page)) return undefined;
      return { query: [settings.query, String(page.gathered)] };
    case 'cursor': {
      const cursor = toCursor(pick(body, settings.at));
      return cursor === undefined ? undefined : { query: [settings.query, cursor] };
    }
    case 'link': {
      const link = toCursor(pick(body, settings.at));
      return link === undefined ? undefined : { url: toOwnUrl(link, page.url) };
    }
    case 'link_header': {
      const link = nextLinkOf(headers.get('link') ?? '');
      return link === undefined ? undefined : { url: toOwnUrl(link, page.url) };
    }
  }
}

/** Without a total, only an empty page is the end: a tool may return fewer members than requested. */
function hasEnded(totalPath: string | undefined, { answer, count, gathered }: AnswerPage): boolean {
  if (totalPath === undefined) return count === 0;
  const total = pick(answer.body, totalPath);
  if (!Number.isSafeInteger(total)) {
    throw new AppError('invalid', `Could not list the members: "${totalPath}" is not a number`);
  }
  if (gathered >= Number(total)) return true;
  if (count > 0) return false;
  throw new AppError('unavailable', `Could not list the members: the list ended at ${gathered} of ${String(total)}`);
}

/** A cursor or a link. Without one, the list has ended. */
function toCursor(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '' || value === false) return undefined;
  if (typeof value === 'string') return value;
  if (Number.isSafeInteger(value)) return String(value);
  throw new AppError('invalid', 'Could not list the members: the cursor or link of the next page is not a text');
}

/** Refuses a link to another server, which would get the credentials. */
function toOwnUrl(link: string, from: string): string {
  const url = URL.parse(link, from);
  const isOwn = url !== null && url.origin === new URL(from).origin && url.username + url.password === '';
  if (isOwn) return url.href;
  throw new AppError('invalid', 'Could not list the members: the next page is on another server');
}

/** The part of RFC 8288 that tools use: `<https://…>; rel="next"`. */
export function nextLinkOf(header: string): string | undefined {
  for (const [, link, parameters = ''] of header.matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, relations = ''] = /;\s*rel\s*=\s*"?([^";,]*)/i.exec(parameters) ?? [];
    if (relations.toLowerCase().split(/\s+/).includes('next')) return link;
  }
  return undefined;
}

// Field names that are common in tools, and show that an answer is incomplete.

const nextNames = /^next(page|link|url|uri|href|pageurl|cursor|token|pagetoken|offset|marker)?$/;
const moreNames = /^(continuation(token)?|istruncated|has(more|next|nextpage)|more(results|pages)?)$/;
const totalNames = /^(count|total(count|results|items|records|elements|hits|size|entries|members|users)?)$/;
const pageCountNames = /^(totalpages|pagecount|numpages|lastpage)$/;
/** Names of the objects next to a list that describe it. */
const metadataNames =
  /^(meta(data)?|links?|pages?|paging|pagination|pageinfo|paginator|cursors?|responsemetadata|resultinfo)$/;
const totalHeaders = ['x-total-count', 'x-total'];

/** The sign that an answer is incomplete, as a sentence; null if there is none. @param count of the items in the list */
function findSignOfMore({ body, headers }: HttpAnswer, itemsPath: string, count: number): string | null {
  const signs = metadataOf(body, itemsPath).map((field) => signOf(field, count));
  return signInHeaders(headers, count) ?? signs.find((sign) => sign !== null) ?? null;
}

function signInHeaders(headers: Headers, count: number): string | null {
  if (nextLinkOf(headers.get('link') ?? '') !== undefined) return 'its header Link names a next page';
  if (headers.get('x-next-page')) return 'its header X-Next-Page names a next page';
  const total = totalHeaders.find((name) => Number(headers.get(name) ?? 0) > count);
  return total === undefined ? null : `its header ${total} is over ${count}`;
}

type Field = [path: string, value: unknown];

function signOf([path, value]: Field, count: number): string | null {
  const name = toPlainName(path.split('.').at(-1) ?? '');
  if ((nextNames.test(name) || moreNames.test(name)) && leadsOn(value)) return `"${path}" names a next page`;
  if (totalNames.test(name) && isOver(value, count)) return `"${path}" is over ${count}`;
  if (pageCountNames.test(name) && isOver(value, 1)) return `"${path}" is over 1`;
  return null;
}

/** All fields that may describe the list: in the objects around it and next to it. */
function metadataOf(body: unknown, itemsPath: string): Field[] {
  const keys = itemsPath === '' ? [] : itemsPath.split('.');
  return keys.flatMap((key, depth) => {
    const before = keys.slice(0, depth).join('.');
    return fieldsOf(before, pick(body, before))
      .filter(([path]) => path !== (before === '' ? key : `${before}.${key}`))
      .flatMap(([path, value]): Field[] => {
        const isMetadata = metadataNames.test(toPlainName(path.split('.').at(-1) ?? ''));
        return [[path, value], ...(isMetadata ? fieldsOf(path, value) : [])];
      });
  });
}

function fieldsOf(path: string, value: unknown): Field[] {
  if (!isObject(value)) return [];
  return Object.entries(value).map(([name, inner]) => [path === '' ? name : `${path}.${name}`, inner]);
}

/** `next_page`, `nextPage` and `next-page` are one name. */
function toPlainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '');
}

function leadsOn(value: unknown): boolean {
  if (isObject(value)) return Object.values(value).some((inner) => isText(inner));
  return value === true || isText(value) || (typeof value === 'number' && value > 0);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isOver(value: unknown, count: number): boolean {
  return typeof value === 'number' && value > count;
}
