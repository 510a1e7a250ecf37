import { z } from 'zod';
import { act, group, read } from './operation.ts';
import { record } from './show.ts';
import { instant, maybeText } from './values.ts';

/** What an instance finds when it examines itself. `gangway doctor` examines without one. */

export const Check = z
  .object({
    name: z.string(),
    status: z.enum(['ok', 'warning', 'failure']),
    says: z.string(),
    action: maybeText.describe('What to do; null if there is nothing to do.'),
  })
  .meta({ id: 'Check' });

const Report = z.object({ by: z.string(), at: instant, checks: z.array(Check) }).meta({ id: 'Report' });

export const doctor = group('doctor', {
  show: read('GET /doctor', 'Show what this instance found when it last examined everything', {
    hasCommand: false,
    in: z.strictObject({}),
    out: z.object({
      report: Report.nullable().describe('Null if this instance has examined nothing since it was started.'),
    }),
    run(_none, { reports }) {
      const found = reports.get('doctor');
      return { report: found === undefined ? null : { ...found, checks: [...found.checks] } };
    },
    show: record,
  }),
  run: act('POST /doctor', 'Examine configuration, tools, marketplace, database and clocks, and say what to do', {
    hasCommand: false,
    in: z.strictObject({}),
    out: Report,
    async run(_none, { examine, reports }, { by, signal }) {
      const found = { by: by.actor, at: by.at, checks: await examine(signal) };
      reports.set('doctor', found);
      return found;
    },
    show: record,
  }),
});
