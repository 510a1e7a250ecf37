import { html } from 'hono/html';
import type { Column, Columns } from '../../operations/show.ts';
import type { Html } from '../page.ts';
import { exactOf, instantOf, labelOf, stateBadge } from './cells.ts';

/** A column that only the console has, for example of buttons. It comes after the others, or first. */
export type HtmlColumn<Row> = readonly [title: string, cell: (row: Row) => Html | string, place?: 'first'];

/** A column as it is shown, with those in small print beneath it. */
interface Shown<Row> {
  title: string;
  align: string;
  cell(row: Row): Html | string;
}

/**
 * A list as a table. A column that would be empty is left out.
 *
 * @param caption what the rows are, for those who hear the page
 * @param whenEmpty what would be here, and how to make it appear
 * @param more further columns
 */
export function tableOf<Row>(
  caption: string,
  rows: readonly Row[],
  columns: Columns<Row>,
  whenEmpty: Html | string,
  more: readonly HtmlColumn<Row>[] = [],
): Html {
  if (rows.length === 0) return html`<p class="empty">${whenEmpty}</p>`;
  const own = (isFirst: boolean) =>
    more.flatMap(([title, cell, place]) => ((place === 'first') === isFirst ? [{ title, cell, align: '' }] : []));
  const all = [...own(true), ...toShown(columns), ...own(false)];
  const shown = all
    .map(({ title, align, cell }) => ({ title: labelOf(title), align, cells: rows.map(cell) }))
    .filter(({ cells }, index) => index === 0 || cells.some((cell) => cell !== ''));
  // What is wider than the screen is scrolled, with the keys too. On a phone each row is a card, whose cells say what
  // they are: browsers would no longer take that for a table, so the roles say it.
  return html`<div class="table" tabindex="0" role="region" aria-label="${caption}">
    <table role="table">
      <caption>
        ${caption}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${shown.map(({ title, align }) => html`<th scope="col" role="columnheader" class="${align}">${title}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (_, row) =>
            html`<tr role="row">
              ${shown.map(({ title, align, cells }) => html`<td role="cell" data-label="${title}" class="${align}">${cells[row]}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The most rows of a list that has no pages. */
const mostListed = 200;

/** The first rows of a list that has no pages, and how many are left out. */
export function shortTableOf<Row>(
  caption: string,
  rows: readonly Row[],
  columns: Columns<Row>,
  whenEmpty: string,
  more: readonly HtmlColumn<Row>[] = [],
): Html {
  const left = rows.length - mostListed;
  return html`${tableOf(caption, rows.slice(0, mostListed), columns, whenEmpty, more)}
    ${left > 0 && html`<p class="quiet">${left} more are not listed.</p>`}`;
}

function toShown<Row>(columns: Columns<Row>): Shown<Row>[] {
  const groups: [main: Column<Row>, ...beneath: Column<Row>[]][] = [];
  for (const column of columns) {
    const group = groups.at(-1);
    if (column[2]?.isBeneath === true && group !== undefined) group.push(column);
    else groups.push([column]);
  }
  return groups.map(([main, ...beneath]) => {
    const [title, , { align } = {}] = main;
    return { title, align: align === 'right' ? 'number' : '', cell: (row) => cellOf(main, beneath, row) };
  });
}

/** Where the main cell is empty, the first beneath it takes its place, such as an id that of a name. */
function cellOf<Row>(main: Column<Row>, beneath: readonly Column<Row>[], row: Row): Html | string {
  const small = beneath.map((column) => textOf(column, row)).filter((text) => text !== '');
  const shown = shownOf(main, row) || small.shift() || '';
  if (shown === '') return '';
  const href = main[2]?.to?.(row);
  const linked = href ? html`<a href="${href}">${shown}</a>` : shown;
  return small.length === 0 ? linked : html`${linked} <small>${small.join(' · ')}</small>`;
}

function shownOf<Row>(column: Column<Row>, row: Row): Html | string {
  const text = textOf(column, row);
  const as = column[2]?.as;
  if (as === 'state' && text !== '') return stateBadge(text);
  if (as === 'age') return instantOf(text);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? exactOf(text) : text;
}

function textOf<Row>([, cell]: Column<Row>, row: Row): string {
  return String(cell(row) ?? '');
}

type Value = Html | string | number | null | undefined | false;

/** Facts of one thing. What is not known is left out. */
export function sheetOf(facts: readonly (readonly [title: string, value: Value])[]): Html | string {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  if (known.length === 0) return '';
  return html`<dl class="sheet">${known.map(([title, value]) => html`<dt>${labelOf(title)}</dt><dd>${value}</dd>`)}</dl>`;
}

/** The fields of an answer. Those of several lines follow beneath the others. */
export function recordOf(answer: object): Html {
  const fields = Object.entries(answer).filter(([, value]) => value !== null && value !== '');
  const isLong = (value: unknown) => typeof value === 'string' && value.includes('\n');
  return html`
    ${sheetOf(fields.filter(([, value]) => !isLong(value)).map(([name, value]) => [name, showField(value)]))}
    ${fields.filter(([, value]) => isLong(value)).map(([name, value]) => html`<h2>${labelOf(name)}</h2><pre>${value}</pre>`)}
  `;
}

function showField(value: unknown): Html | string {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT\S+Z$/.test(value)) return instantOf(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Texts that are shown once, each with a button that copies it. */
export function secretSheet(answer: object, back: string): Html {
  const texts = Object.values(answer).flatMap((value) =>
    typeof value === 'object' && value !== null ? Object.entries(value) : [],
  );
  return html`
    <p class="warn">Send it now. It won't be shown again.</p>
    ${sheetOf(texts.map(([name, value]) => [name, value === null || name === 'kind' ? null : copied(name, String(value))]))}
    <p><a href="${back}">Back</a></p>
  `;
}

function copied(name: string, text: string): Html {
  return html`<code id="copy-${name}">${text}</code> <button type="button" class="copy" data-copies="copy-${name}">Copy</button>`;
}
