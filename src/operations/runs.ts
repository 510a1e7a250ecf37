import { z } from 'zod';
import { runTriggers } from '../domain/run.ts';
import { listRuns } from '../reconcile/runs/run-store.ts';
import { group, read } from './operation.ts';
import { page, pageById, paging } from './paging.ts';
import { type Columns, fieldColumns, numberColumns, table } from './show.ts';
import { count, instant, maybeInstant, maybeText, named, ofInstall, outcome, runCounts } from './values.ts';

/** The readings of the last month, and what followed from each in the tools. */

const Run = named(
  { id: 'Run', description: 'One reading of an install, and what followed from it in the tools.' },
  {
    id: z.int(),
    install: z.string(),
    trigger: z.enum(runTriggers),
    beganAt: instant,
    readAt: maybeInstant.describe('When everything that was read was stored; null before that.'),
    endedAt: maybeInstant.describe('When the tools were in sync; null before that.'),
    outcome: outcome.nullable(),
    contracts: count.describe('How many contracts were read.'),
    ...runCounts,
    failure: maybeText,
  },
);

const columns: Columns<z.output<typeof Run>> = [
  ['id', ({ id }) => id],
  ['age', ({ beganAt }) => beganAt, { as: 'age' }],
  ...fieldColumns('install', 'trigger'),
  ['outcome', ({ outcome: of, endedAt }) => of ?? (endedAt === null ? 'running' : '')],
  ...numberColumns('contracts', 'added', 'removed', 'held', 'failed'),
  ['problem', ({ failure }) => failure],
];

export const operations = group('runs', {
  list: read('GET /runs', 'List the readings of the last month and what followed from each, newest first', {
    in: z.strictObject({ install: ofInstall, ...paging }),
    out: page(Run),
    run: ({ install, ...wish }, ctx) =>
      pageById('runs', wish, (before, limit) => listRuns(ctx, { install, before, limit })),
    show: table(columns, 'No readings match.'),
  }),
});
