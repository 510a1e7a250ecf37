import { z } from 'zod';
import { findAct, listActs } from '../db/audit-store.ts';
import { group, read } from './operation.ts';
import { page, pageById, paging } from './paging.ts';
import { type Columns, record, table } from './show.ts';
import { found, instant, maybeText, named, rowNumber, text } from './values.ts';

/** The audit log: who did what, and when. */

const Act = named(
  { id: 'Act', description: 'One row of the audit log.' },
  {
    id: z.int(),
    at: instant,
    actor: z.string(),
    origin: z.string().describe('Where the operator did it.'),
    action: z.string(),
    subject: z.string(),
    before: maybeText,
    after: maybeText,
  },
);

export type Act = z.output<typeof Act>;

const columns: Columns<z.output<typeof Act>> = [
  ['id', ({ id }) => id],
  ['what', ({ action }) => action, { to: ({ id }) => `/acts/${id}` }],
  ['about', ({ subject }) => (subject.length > 200 ? `${subject.slice(0, 200)}…` : subject)],
  ['who', ({ actor }) => actor, { to: ({ actor }) => `/acts?${new URLSearchParams({ actor })}` }],
  ['from', ({ origin }) => origin, { isBeneath: true }],
  ['at', ({ at }) => at],
];

export const operations = group('audit', {
  list: read('GET /acts', 'List what operators did, newest first', {
    in: z.strictObject({ actor: text.optional().describe('Only what this operator did.'), ...paging }),
    out: page(Act),
    run: ({ actor, ...wish }, { database }) =>
      pageById('audit', wish, (before, limit) => listActs(database, { actor, before, limit })),
    show: table(columns, 'No operator has done anything yet, in the console or on the command line.'),
  }),
  show: read('GET /acts/{act}', 'Show one act, with the values before and after', {
    in: z.strictObject({ act: rowNumber.describe('Its number in the list.') }),
    out: Act,
    run: async ({ act: id }, { database }) => found('act', id, await findAct(database, id)),
    show: record,
  }),
});
