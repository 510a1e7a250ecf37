import { html } from 'hono/html';
import type { Html } from '../page.ts';
import { labelOf } from './label.ts';

/** A column of a list: its title, what stands in it for one row, and whether it is a number. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => Html | string | number | null, align?: 'number'];

/**
 * A list as a table.
 *
 * A column that would be empty is left out.
 *
 * @param caption what the rows are, for those who hear the page
 * @param whenEmpty what would be here, and how to make it appear
 */
export function tableOf<Row>(
  caption: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  whenEmpty: Html | string,
): Html {
  if (rows.length === 0) return html`<p class="empty">${whenEmpty}</p>`;
  const shown = columns
    .map(([title, cell, align = '']) => ({ title: labelOf(title), align, cells: rows.map(cell) }))
    .filter(({ cells }, index) => index === 0 || cells.some((cell) => (cell ?? '') !== ''));
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
