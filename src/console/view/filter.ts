import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { Asked, Html } from '../page.ts';

/** A part of a filter: a list to choose from, or a field to type in. */
export interface FilterField {
  name: string;
  label: string;
  /** A field to type in if it is undefined. */
  options?: readonly string[];
  type?: 'search' | 'date';
}

/** The filter is in the address, so that it can be shared. */
export function filterForm({ path, query }: Asked, fields: readonly FilterField[]): Html {
  return html`<form class="filter" method="get" action="${path}">
    ${fields.map((field) => toField(field, query.get(field.name) ?? ''))}
    <button>Search</button>
    <a href="${path}">Show all</a>
  </form>`;
}

function toField({ name, label, options, type = 'search' }: FilterField, value: string): Html {
  if (options === undefined) {
    return html`<label>${label}<input type="${type}" name="${name}" value="${value}" maxlength="200" /></label>`;
  }
  const all = value === '' || options.includes(value) ? options : [...options, value];
  return html`<label
    >${label}
    <select name="${name}">
      <option value="">all</option>
      ${all.map((one) => html`<option value="${one}" ${one === value ? html`selected` : ''}>${one}</option>`)}
    </select></label
  >`;
}

/** What was typed or chosen; undefined if nothing was. Without what no name or id has. */
export function chosen(query: URLSearchParams, name: string): string | undefined {
  const text = (query.get(name) ?? '')
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
    .slice(0, 200);
  return text === '' ? undefined : text.toWellFormed();
}

/**
 * The same, of a closed set.
 *
 * @throws AppError `invalid` for anything else: an act on all that match would act on more than was meant
 */
export function chosenOf<T extends string>(query: URLSearchParams, name: string, all: readonly T[]): T | undefined {
  const text = chosen(query, name);
  const found = all.find((one) => one === text);
  if (text !== undefined && found === undefined) {
    throw new AppError('invalid', `The filter ${name} can be: ${all.join(', ')}`);
  }
  return found;
}

/** A number of a row; undefined if it is none. */
export function toRowId(text: string | null | undefined): number | undefined {
  return text != null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** @param lastId the smallest id of a full page; undefined if there is nothing before it */
export function pager({ path, query }: Asked, lastId: number | undefined): Html | string {
  const isFirst = !query.has('before');
  if (isFirst && lastId === undefined) return '';
  const to = (before?: number) => {
    const next = new URLSearchParams(query);
    next.delete('before');
    if (before !== undefined) next.set('before', String(before));
    return `${path}?${next}`;
  };
  return html`<p class="pager">
    ${isFirst ? '' : html`<a href="${to()}">To the newest</a>`}
    ${lastId === undefined ? '' : html`<a href="${to(lastId)}" rel="next">Older ones</a>`}
  </p>`;
}
