import { html } from 'hono/html';
import type { Field } from '../../../operations/input.ts';
import type { Html, PageRequest } from '../page.ts';
import { labelOf } from './table.ts';

/** A field of an operation's input, and its current value. */
export type FormField = Pick<Field, 'type' | 'choices' | 'preset' | 'isRequired'> & { name: string; value: string };

/** A filter that is kept in the address, so that it can be shared. */
export function filterForm({ path }: PageRequest, fields: readonly FormField[]): Html {
  return html`<form class="filter" method="get" action="${path}">
    ${fields.map((field) => fieldOf({ ...field, isRequired: false }, 'all'))}
    <button>Search</button>
    <a href="${path}">Show all</a>
  </form>`;
}

/** A field of an act with its description. */
export function explainedField(field: FormField & Pick<Field, 'description'>): Html {
  return html`<div>${fieldOf(field, 'by default')}<p class="quiet">${field.description}</p></div>`;
}

/** @param none the text of the empty choice */
function fieldOf(field: FormField, none: string): Html {
  const { name, type, choices, isRequired, value } = field;
  // The name in a column is a trainer's, but no form asks for that.
  const label = labelOf(name === 'name' ? 'displayName' : name);
  if (type === 'flag') {
    const checked = value === 'true' ? html`checked` : '';
    return html`<label class="tick"><input type="checkbox" name="${name}" value="true" ${checked} /> ${label}</label>`;
  }
  if (choices !== undefined) return html`<label>${label} ${selectOf({ ...field, choices }, none)}</label>`;
  // A secret is never sent back to the browser.
  if (name === 'token') return html`<label>${label} <input type="password" name="token" autocomplete="off" /></label>`;
  const kind = days.has(name) ? 'date' : 'text';
  const longest = type === 'list' ? 50_000 : 500;
  return html`<label
    >${label} <input type="${kind}" name="${name}" value="${value}" maxlength="${longest}" ${isRequired ? html`required` : ''}
  /></label>`;
}

function selectOf(
  { name, choices, preset, isRequired, value }: FormField & { choices: readonly string[] },
  none: string,
) {
  const chosen = value === '' ? String(preset ?? '') : value;
  const all = new Set([...(preset === undefined ? [''] : []), ...choices, ...(chosen === '' ? [] : [chosen])]);
  return html`<select name="${name}" ${isRequired ? html`required` : ''}>
    ${[...all].map((one) => html`<option value="${one}" ${one === chosen ? html`selected` : ''}>${one === '' ? none : one}</option>`)}
  </select>`;
}

const days: ReadonlySet<string> = new Set(['since', 'until', 'from', 'to']);

/** The number of a row; undefined if the text is not one. */
export function toRowId(text: string | null | undefined): number | undefined {
  return text != null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/**
 * Links to the next page and back to the first.
 *
 * @param next the cursor of the next page; null on the last
 */
export function pager(
  { path, query }: Pick<PageRequest, 'path' | 'query'>,
  next: string | number | null,
): Html | string {
  const isFirst = !query.has('cursor');
  if (isFirst && next === null) return '';
  const to = (cursor: string | number | null) => {
    const other = new URLSearchParams(query);
    other.delete('cursor');
    if (cursor !== null) other.set('cursor', String(cursor));
    return `${path}?${other}`;
  };
  return html`<p class="pager">
    ${!isFirst && html`<a href="${to(null)}">First page</a>`}
    ${next !== null && html`<a href="${to(next)}" rel="next">Next page</a>`}
  </p>`;
}
