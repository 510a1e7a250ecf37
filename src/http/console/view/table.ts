import { html } from 'hono/html';
import { type Tone, toneOf } from '../../../lib/tone.ts';
import { sayAge } from '../../../lib/units.ts';
import type { Column, Columns } from '../../../operations/show.ts';
import type { Html } from '../page.ts';

/** A column that only the console has, such as one of buttons. It comes last unless it is marked `first`. */
export type HtmlColumn<Row> = readonly [title: string, cell: (row: Row) => Html | string, place?: 'first'];

/**
 * A list as a table. Empty columns are left out.
 *
 * @param caption what the rows are, for screen readers
 * @param whenEmpty what would be here, and what makes it appear
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
  // A wide table scrolls, also with the keyboard. On a phone each row is a card with labelled cells, which browsers would
  // not recognise as a table without the roles.
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

/** The first rows of a list that has no pages, and the number of rows left out. */
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

/** Each column with the small print beneath it. */
function toShown<Row>(columns: Columns<Row>) {
  const groups: [main: Column<Row>, ...beneath: Column<Row>[]][] = [];
  for (const column of columns) {
    const group = groups.at(-1);
    if (column[2]?.isBeneath === true && group !== undefined) group.push(column);
    else groups.push([column]);
  }
  return groups.map(([main, ...beneath]) => {
    const [title, , { align } = {}] = main;
    return { title, align: align === 'right' ? 'number' : '', cell: (row: Row) => cellOf(main, beneath, row) };
  });
}

/** If the main cell is empty, the first non-empty cell beneath takes its place, such as an id in place of a name. */
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

/** A list of facts. Unknown ones are left out. */
export function sheetOf(facts: readonly (readonly [title: string, value: Value])[]): Html | string {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  if (known.length === 0) return '';
  return html`<dl class="sheet">${known.map(([title, value]) => html`<dt>${labelOf(title)}</dt><dd>${value}</dd>`)}</dl>`;
}

/** The fields of an answer. Those with several lines come last. */
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

/** Secrets that are shown only once, each with a button that copies it. */
export function secretSheet(answer: object, back: string): Html {
  const texts = Object.values(answer).flatMap((value) =>
    typeof value === 'object' ? Object.entries(value ?? {}) : [],
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

/** A state looks the same everywhere: a dot, a colour and a word. */
export function badgeOf(word: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${word}</span>`;
}

/** States that are shown under another name. */
const stateWords: Readonly<Record<string, string>> = {
  waiting_email: 'No work email',
  removing: 'Being removed',
  released: 'Left in',
  held: 'Removal on hold',
  not_read: 'Not read yet',
};

export function stateBadge(state: string): Html {
  const word = stateWords[state] ?? state.replaceAll('_', ' ');
  return badgeOf(`${word.charAt(0).toUpperCase()}${word.slice(1)}`, toneOf(state));
}

const relativeMs = 30 * 86_400_000;

/** How long ago, or how soon; beyond 30 days the date. The tooltip has the exact time. */
export function instantOf(at: string | null | undefined): Html | string {
  if (!at) return '';
  const exact = `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
  return html`<time datetime="${at}" title="${exact}">${sayWhen(Date.now() - Date.parse(at)) ?? at.slice(0, 10)}</time>`;
}

function sayWhen(ms: number): string | undefined {
  if (Math.abs(ms) >= relativeMs) return undefined;
  return ms >= 0 ? `${sayAge(ms)} ago` : `in ${sayAge(-ms)}`;
}

/** For lists in which the order matters more than the age. */
export function exactOf(at: string): Html {
  return html`<time datetime="${at}" title="${at.slice(0, 19)} UTC">${at.slice(0, 10)} ${at.slice(11, 19)}</time>`;
}

/** The console's names for things that have another name in commands. */
const titles: Readonly<Record<string, string>> = {
  install: 'Customer',
  group: 'Project',
  name: 'Trainer',
  title: 'Contract',
  displayName: 'Name',
  q: 'Trainer, project or work email',
  suspects: 'Only unlisted ones',
  leaving: 'Only those about to leave',
};

/** The displayed title of a column or a field. */
export function labelOf(title: string): string {
  const text = title.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return titles[title] ?? `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A section of a page. @param beside a count, a link or a button beside the heading */
export function panelOf(heading: string, body: Html, beside: Html | string = ''): Html {
  return html`<section class="panel">
    <header><h2>${heading}</h2>${beside}</header>
    ${body}
  </section>`;
}
