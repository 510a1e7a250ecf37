import { AppError } from '../../domain/errors.ts';
import type { HttpAnswer } from '../../lib/http-client.ts';
import type { Member } from '../adapter.ts';
import { isObject, toId } from '../values.ts';
import type { MemberSettings, PageSettings } from './http-schema.ts';

/** Reads the answers of a tool: values, members, and where the next page is. Pure; any answer is accepted. */

/** The value at a path such as `data.0.user`; an empty path means the whole answer. */
export function pick(answer: unknown, path: string): unknown {
  if (path === '') return answer;
  return path.split('.').reduce<unknown>(childOf, answer);
}

function childOf(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return (parent as Record<string, unknown>)[key];
}

/**
 * An item of an answer as a member.
 *
 * @returns null for an item that is marked as gone, undefined for an item without an id
 */
export function toMember(item: unknown, settings: MemberSettings): Member | null | undefined {
  const id = toId(pick(item, settings.id));
  if (id === undefined) return undefined;
  if (isMarked(item, settings.gone)) return null;
  const email = pick(item, settings.email);
  return {
    id,
    email: typeof email === 'string' && email !== '' ? email : null,
    ...(isMarked(item, settings.invited) && { isInvited: true }),
  };
}

function isMarked(item: unknown, mark: MemberSettings['gone']): boolean {
  return mark?.is.some((value) => value === pick(item, mark.at)) === true;
}

/** A page that was read. */
export interface AnswerPage {
  answer: HttpAnswer;
  /** Where the answer came from. */
  url: string;
  /** How many items are on it. */
  count: number;
  /** How many items are on all pages so far. */
  gathered: number;
  /** The number of the page, from 0. */
  index: number;
}

/** Where the next page is: one more parameter of the query, or another URL of the same tool. */
export type NextPage = { query: [name: string, value: string] } | { url: string };

/** What the first request asks for. */
export function firstPage(settings: PageSettings): NextPage | undefined {
  return settings.by === 'page' ? { query: [settings.query, String(settings.first)] } : undefined;
}

/**
 * Decides what to request next.
 *
 * @returns undefined at the end of the list
 * @throws AppError `invalid` for a link that leads out of the tool or an invalid total,
 * `unavailable` for a list that ended before its total
 */
export function nextPage(settings: PageSettings, page: AnswerPage): NextPage | undefined {
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
      const cursor = toMark(pick(body, settings.at));
      return cursor === undefined ? undefined : { query: [settings.query, cursor] };
    }
    case 'link': {
      const link = toMark(pick(body, settings.at));
      return link === undefined ? undefined : { url: toOwnUrl(link, page.url) };
    }
    case 'link_header': {
      const link = nextLinkOf(headers.get('link') ?? '');
      return link === undefined ? undefined : { url: toOwnUrl(link, page.url) };
    }
  }
}

/**
 * Without a total, only an empty page is the end. A short page proves nothing, because a tool may
 * return fewer members than it was asked for.
 */
function hasEnded(totalPath: string | undefined, { answer, count, gathered }: AnswerPage): boolean {
  if (totalPath === undefined) return count === 0;
  const total = pick(answer.body, totalPath);
  if (!Number.isSafeInteger(total)) {
    throw new AppError('invalid', `Could not list the members: there is no number at "${totalPath}"`);
  }
  if (gathered >= Number(total)) return true;
  if (count > 0) return false;
  throw new AppError('unavailable', `Could not list the members: they ended at ${gathered} of ${String(total)}`);
}

/** A cursor or a link. If it is missing, null or empty, the list has ended. */
function toMark(mark: unknown): string | undefined {
  if (mark === undefined || mark === null || mark === '' || mark === false) return undefined;
  if (typeof mark === 'string') return mark;
  if (Number.isSafeInteger(mark)) return String(mark);
  throw new AppError('invalid', 'Could not list the members: what leads to the next page is not a text');
}

/** The credential is sent there, so the link must not leave the server. */
function toOwnUrl(link: string, from: string): string {
  const url = URL.parse(link, from);
  const isOwn = url !== null && url.origin === new URL(from).origin && url.username + url.password === '';
  if (isOwn) return url.href;
  throw new AppError('invalid', 'Could not list the members: the next page is on another server');
}

/** RFC 8288, as far as tools use it: `<https://…>; rel="next"`. */
export function nextLinkOf(header: string): string | undefined {
  for (const [, link, parameters = ''] of header.matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, relations = ''] = /;\s*rel\s*=\s*"?([^";,]*)/i.exec(parameters) ?? [];
    if (relations.toLowerCase().split(/\s+/).includes('next')) return link;
  }
  return undefined;
}

/** Finds signs that an answer is incomplete, by field names that are common in tools. Pure. */

const nextNames = /^next(page|link|url|uri|href|pageurl|cursor|token|pagetoken|offset|marker)?$/;
const moreNames = /^(continuation(token)?|istruncated|has(more|next|nextpage)|more(results|pages)?)$/;
const totalNames = /^(count|total(count|results|items|records|elements|hits|size|entries|members|users)?)$/;
const pageCountNames = /^(totalpages|pagecount|numpages|lastpage)$/;
/** Names of the objects next to a list that describe it. */
const aboutNames =
  /^(meta(data)?|links?|pages?|paging|pagination|pageinfo|paginator|cursors?|responsemetadata|resultinfo)$/;
const totalHeaders = ['x-total-count', 'x-total'];

/**
 * The sign that members are missing in an answer, as a sentence; null without a sign.
 *
 * @param itemsPath where the list is in the answer
 * @param count how many items the list has
 */
export function findSignOfMore({ body, headers }: HttpAnswer, itemsPath: string, count: number): string | null {
  const signs = fieldsAbout(body, itemsPath).map((field) => signOf(field, count));
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
function fieldsAbout(body: unknown, itemsPath: string): Field[] {
  const keys = itemsPath === '' ? [] : itemsPath.split('.');
  return keys.flatMap((key, depth) => {
    const before = keys.slice(0, depth).join('.');
    return fieldsOf(before, pick(body, before))
      .filter(([path]) => path !== (before === '' ? key : `${before}.${key}`))
      .flatMap(([path, value]): Field[] => {
        const isAbout = aboutNames.test(toPlainName(path.split('.').at(-1) ?? ''));
        return [[path, value], ...(isAbout ? fieldsOf(path, value) : [])];
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
