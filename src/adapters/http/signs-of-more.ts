import type { HttpAnswer } from '../../lib/http-client.ts';
import { isObject } from '../values.ts';
import { pick } from './answer.ts';
import { nextLinkOf } from './pages.ts';

/** Finds signs in an answer that it is not complete, by names that are common in tools. Pure. */

const nextNames = /^next(page|link|url|uri|href|pageurl|cursor|token|pagetoken|offset|marker)?$/;
const moreNames = /^(continuation(token)?|istruncated|has(more|next|nextpage)|more(results|pages)?)$/;
const totalNames = /^(count|total(count|results|items|records|elements|hits|size|entries|members|users)?)$/;
const pageCountNames = /^(totalpages|pagecount|numpages|lastpage)$/;
/** Objects beside a list that are about the list. */
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

/** All fields that may be about the list: in the objects around it and in those beside it. */
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
