import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import type { Asked, Html } from '../page.ts';
import { labelOf } from './label.ts';

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
    return html`<label>${labelOf(label)}<input type="${type}" name="${name}" value="${value}" maxlength="200" /></label>`;
  }
  const all = value === '' || options.includes(value) ? options : [...options, value];
  return html`<label
    >${labelOf(label)}
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

/**
 * Leads to the rows after those of a full page, and back to the first.
 *
 * @param last what the rows after the page are found by; undefined if there are none
 * @param name where that stands in the address: `before` an id, as the newest come first, or `after` another key
 */
export function pager(
  { path, query }: Pick<Asked, 'path' | 'query'>,
  last: number | string | undefined,
  name: 'before' | 'after' = 'before',
): Html | string {
  const isFirst = !query.has(name);
  if (isFirst && last === undefined) return '';
  const to = (key?: number | string) => {
    const next = new URLSearchParams(query);
    next.delete(name);
    if (key !== undefined) next.set(name, String(key));
    return `${path}?${next}`;
  };
  const [first, more] = name === 'before' ? ['To the newest', 'Older ones'] : ['To the first', 'Further ones'];
  return html`<p class="pager">
    ${isFirst ? '' : html`<a href="${to()}">${first}</a>`}
    ${last === undefined ? '' : html`<a href="${to(last)}" rel="next">${more}</a>`}
  </p>`;
}

/** The key of a contract as it stands in an address. Installs have no slash in their names. */
export function sayContractKey({ install, contractId }: ContractKey): string {
  return `${install}/${contractId}`;
}

/** @returns undefined for anything that names none */
export function toContractKey(text: string | null): ContractKey | undefined {
  const key = (text ?? '').replaceAll(/\p{Cc}/gu, '').toWellFormed();
  const slash = key.indexOf('/');
  return slash < 1 ? undefined : { install: key.slice(0, slash), contractId: key.slice(slash + 1) };
}
