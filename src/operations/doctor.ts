import { z } from 'zod';
import { Check, checkColumns } from './doctor/check.ts';
import { act, group } from './operation.ts';
import { table } from './show.ts';

/** What a running instance finds when it examines itself. `gangway doctor` examines without one. */

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
