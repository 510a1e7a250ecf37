import { html } from 'hono/html';
import type { Html } from '../page.ts';
import { instantOf } from './instant.ts';
import { labelOf } from './label.ts';

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
    ${sheetOf(fields.filter(([, value]) => !isLong(value)).map(([name, value]) => [name, shownOf(value)]))}
    ${fields.filter(([, value]) => isLong(value)).map(([name, value]) => html`<h2>${labelOf(name)}</h2><pre>${value}</pre>`)}
  `;
}

function shownOf(value: unknown): Html | string {
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
