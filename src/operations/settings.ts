import { z } from 'zod';
import { describeConfig } from '../config/describe-config.ts';
import { group, read } from './operation.ts';
import { type Columns, fieldColumns, table } from './show.ts';
import { named } from './values.ts';

const Setting = named(
  { id: 'Setting', description: 'One key of the configuration as it was loaded; secrets are masked.' },
  { key: z.string(), value: z.string(), isDefault: z.boolean(), says: z.string() },
);

export type Setting = z.output<typeof Setting>;

export const settingColumns: Columns<Setting> = [
  ...fieldColumns('key', 'value'),
  ['from', sayOrigin],
  ['meaning', ({ says }) => says],
];

function sayOrigin({ isDefault, value }: Setting): string {
  if (isDefault) return 'default';
  return value === 'not set' ? '' : 'configuration';
}

export const operations = group('settings', {
  list: read('GET /settings', 'List the configuration as it was loaded, with secrets masked', {
    in: z.strictObject({}),
    out: z.object({ settings: z.array(Setting) }),
    run: (_none, { config }) => ({ settings: describeConfig(config) }),
    show: table(settingColumns, 'There are no settings.', 'settings'),
  }),
});
