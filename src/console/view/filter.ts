import { html } from 'hono/html';
import type { Field } from '../../operations/input.ts';
import type { Html, PageRequest } from '../page.ts';
import { labelOf } from './label.ts';

/** A field of a form, as the input of an operation describes it, and what is in it. */
export type FormField = Pick<Field, 'type' | 'choices' | 'preset' | 'isRequired'> & { name: string; value: string };

/** The filter is in the address, so that it can be shared. */
export function filterForm({ path }: PageRequest, fields: readonly FormField[]): Html {
  return html`<form class="filter" method="get" action="${path}">
    ${fields.map((field) => fieldOf({ ...field, isRequired: false }))}
    <button>Search</button>
    <a href="${path}">Show all</a>
  </form>`;
}

export function fieldOf({ name, type, choices, preset, isRequired, value }: FormField): Html {
  const label = labelOf(name);
  const required = isRequired ? html`required` : '';
  if (type === 'flag') {
    const checked = value === 'true' ? html`checked` : '';
    return html`<label class="tick"><input type="checkbox" name="${name}" value="true" ${checked} /> ${label}</label>`;
  }
  if (choices === undefined) {
    const kind = days.has(name) ? 'date' : 'text';
    return html`<label>${label}<input type="${kind}" name="${name}" value="${value}" maxlength="500" ${required} /></label>`;
  }
  const shown = value === '' ? String(preset ?? '') : value;
  const all = [
    ...(preset === undefined ? [''] : []),
    ...choices,
    ...(shown === '' || choices.includes(shown) ? [] : [shown]),
  ];
  return html`<label
    >${label}
    <select name="${name}" ${required}>
      ${all.map((one) => html`<option value="${one}" ${one === shown ? html`selected` : ''}>${one === '' ? 'all' : one}</option>`)}
    </select></label
  >`;
}

const days: ReadonlySet<string> = new Set(['since', 'until', 'from', 'to']);

/** A number of a row; undefined if it is none. */
export function toRowId(text: string | null | undefined): number | undefined {
  return text != null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/**
 * Leads to the rows after those of a full page, and back to the first.
 *
 * @param next what the rows after the page are found by; null if there are none
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
