import { z } from 'zod';
import { act, group } from './operation.ts';
import { type Columns, table } from './show.ts';
import { maybeText } from './values.ts';

/** What a running instance finds when it examines itself. `gangway doctor` examines without one. */

export const Check = z
  .object({
    name: z.string(),
    status: z.enum(['ok', 'warning', 'failure']),
    says: z.string(),
    action: maybeText.describe('What to do; null if there is nothing to do.'),
  })
  .meta({ id: 'Check' });

export const checkColumns: Columns<z.output<typeof Check>> = [
  ['result', ({ status }) => status, { as: 'state' }],
  ['what', ({ name }) => name],
  ['found', ({ says }) => says],
  ['to do', ({ action }) => action],
];

const order = ['failure', 'warning', 'ok'];

export const operations = group('doctor', {
  run: act('POST /doctor', 'Examine configuration, tools, marketplace, database and clocks, and say what to do', {
    hasCommand: false,
    in: z.strictObject({}),
    out: z.object({ checks: z.array(Check).describe('The problems first.') }),
    async run(_none, { examine }, { signal }) {
      const checks = await examine(signal);
      return { checks: checks.toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status)) };
    },
    show: table(checkColumns, 'There was nothing to examine.', 'checks'),
  }),
});
