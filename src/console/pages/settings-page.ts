import { html } from 'hono/html';
import { type DescribedKey, describeConfig } from '../../config/describe-config.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Asked, Html, Page, View } from '../page.ts';
import { type Column, tableOf } from '../view/table.ts';

/** The configuration as it was loaded. It is changed in its file; secrets are never shown. */
export const settingsViews: readonly View[] = [{ path: '/settings', show: showSettings }];

function showSettings(_asked: Asked, { config }: OperationContext): Page {
  const sections = Map.groupBy(describeConfig(config), ({ key }) => key.split('.')[0] ?? key);
  return {
    title: 'Settings',
    body: html`
      <p>
        This is the configuration that the instance was started with. To change it, edit the file and start again.
      </p>
      ${[...sections].map(
        ([name, keys]) =>
          html`<h2>${name}</h2>
            ${tableOf(`The settings under ${name}`, keys, columns, '')}`,
      )}
    `,
  };
}

const columns: readonly Column<DescribedKey>[] = [
  ['key', ({ key }) => html`<code>${key}</code>`],
  ['value', ({ value }) => value],
  ['from', fromOf],
  ['meaning', ({ says }) => says],
];

function fromOf({ isDefault, value }: DescribedKey): Html | string {
  if (isDefault) return 'default';
  return value === 'not set' ? '' : html`<strong>configuration</strong>`;
}
