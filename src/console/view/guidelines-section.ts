import { html } from 'hono/html';
import type { GuidelineRow } from '../../guidelines/guideline-store.ts';
import { isBlocked } from '../../guidelines/sync-install.ts';
import { maskText } from '../../lib/mask.ts';
import { type Asked, formOf, type Html } from '../page.ts';
import { instantOf } from './instant.ts';
import { type Column, tableOf } from './table.ts';

/** What of an install's manuals stands in its tool. */
export function guidelinesSection(asked: Asked, rows: readonly GuidelineRow[], action: string): Html {
  return html`
    <h2>Guidelines</h2>
    ${tableOf('What is published for the jobs of these projects, in the tool', rows, columns, none)}
    ${formOf(
      asked,
      action,
      html`<p>
          <label><input type="checkbox" name="overwrite" /> Replace texts too that Gangway did not write</label>
        </p>
        <p><button>Bring the guidelines in line now</button></p>`,
    )}
  `;
}

const none = 'No project was looked at yet.';

const columns: readonly Column<GuidelineRow>[] = [
  ['project', ({ project }) => maskText(project)],
  [
    'written',
    ({ manualId, publicationNumber }) => (manualId === null ? '' : `publication ${publicationNumber} of ${manualId}`),
  ],
  ['at', ({ writtenAt }) => instantOf(writtenAt)],
  ['state', (row) => stateOf(row)],
  ['since', ({ since }) => instantOf(since)],
  ['says', ({ says }) => maskText(says ?? '')],
];

function stateOf(row: GuidelineRow): Html | string {
  return isBlocked(row) ? html`<span class="warn">${row.state}</span>` : row.state;
}
