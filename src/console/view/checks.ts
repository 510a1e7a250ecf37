import { html } from 'hono/html';
import { maskText } from '../../lib/mask.ts';
import type { Report } from '../../operations/operation.ts';
import type { Check } from '../../operator/doctor-checks.ts';
import type { Html } from '../page.ts';
import { instantOf } from './instant.ts';
import { type Column, tableOf } from './table.ts';

/** What was found, the problems first. */
export function reportOf(caption: string, { by, at, checks }: Report): Html {
  const sorted = [...checks].sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status));
  return html`<p class="quiet">Asked for by ${by} at ${instantOf(at)}.</p>
    ${tableOf(caption, sorted, columns, 'There was nothing to look at.')}`;
}

const order: readonly Check['status'][] = ['failure', 'warning', 'ok'];

const columns: readonly Column<Check>[] = [
  ['result', ({ status }) => html`<span class="${classes[status]}">${status}</span>`],
  ['what', ({ name }) => name],
  ['found', ({ says }) => maskText(says)],
  ['what to do', ({ action }) => maskText(action ?? '')],
];

const classes: Record<Check['status'], string> = { ok: 'good', warning: 'warn', failure: 'bad' };
