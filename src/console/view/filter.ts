import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { Html } from '../page.ts';

/** A field of a filter: one of some values, or any text. */
export interface FilterField {
  name: string;
  label: string;
  /** What can be chosen; without it, a text is typed. */
  values?: readonly string[];
}

/** A form that leads to a filtered list. The filter is in the address, so it can be shared. */
export function filterOf(path: string, fields: readonly FilterField[], query: URLSearchParams): Html {
  return html`<form class="filter" method="get" action="${path}" role="search">
    ${fields.map((field) => html`<label>${field.label} ${inputOf(field, query.get(field.name) ?? '')}</label>`)}
    <button>Filter</button>
    ${query.size > 0 && html`<a href="${path}">Show all</a>`}
  </form>`;
}

function inputOf({ name, values }: FilterField, value: string): Html {
  if (values === undefined) return html`<input name="${name}" value="${value}" />`;
  return html`<select name="${name}">
    <option value="">any</option>
    ${values.map((one) => html`<option value="${one}" ${one === value ? html`selected` : ''}>${one}</option>`)}
  </select>`;
}

/** What the filter in the address says; undefined where it says nothing. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  return query.get(name)?.trim() || undefined;
}

/** @throws AppError `invalid` where it is none of them */
export function oneOf<T extends string>(values: readonly T[], query: URLSearchParams, name: string): T | undefined {
  const text = textIn(query, name);
  const value = values.find((one) => one === text);
  if (text !== undefined && value === undefined) {
    throw new AppError('invalid', `${name} in the address must be one of ${values.join(', ')}`);
  }
  return value;
}

/** @throws AppError `invalid` where it is no id */
export function idIn(text: string | undefined, what: string): number {
  if (text === undefined || !/^\d{1,15}$/.test(text))
    throw new AppError('invalid', `${what} in the address must be a number`);
  return Number(text);
}

/** Where a page of a list begins; undefined for the first one. */
export function beforeIn(query: URLSearchParams): number | undefined {
  const text = textIn(query, 'before');
  return text === undefined ? undefined : idIn(text, 'before');
}

/** A link to the next page, where this one is full. */
export function nextPage(
  path: string,
  query: URLSearchParams,
  before: number | undefined,
  label = 'Older',
): Html | string {
  if (before === undefined) return '';
  const next = new URLSearchParams(query);
  next.set('before', String(before));
  return html`<p class="pager"><a href="${path}?${next}" rel="next">${label}</a></p>`;
}
