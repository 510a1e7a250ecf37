import { z } from 'zod';
import type { Context } from '../context.ts';
import { listHires } from '../hires/hire-store.ts';
import { missingOf } from './post-job.ts';
import { type Columns, contractPath, jobPath } from './show.ts';
import { maybeInstant, maybeText, named } from './values.ts';

/** Each hire, from the draft of the job to the first work. */

export const Hire = named('Hire', {
  install: z.string(),
  jobId: maybeText,
  title: maybeText,
  project: maybeText,
  proposalId: maybeText,
  contractId: maybeText,
  state: z.enum(['waiting', 'declined', 'expired', 'active', 'ended']),
  waitsFor: maybeText.describe('What is next; null if nothing is.'),
  url: maybeText.describe('Where a person confirms the hire.'),
  draftedAt: maybeInstant,
  publishedAt: maybeInstant,
  askedAt: maybeInstant.describe('When the hire was requested.'),
  decidedAt: maybeInstant.describe('When a person decided.'),
  startedAt: maybeText,
  accessAt: maybeInstant.describe('When a trainer of the contract was first in the tool.'),
  workedOn: maybeText.describe('The day of the first work.'),
  endedAt: maybeInstant,
});

export type Hire = z.output<typeof Hire>;

export const hireColumns: Columns<Hire> = [
  [
    'job',
    ({ title, jobId }) => title ?? jobId,
    { to: ({ install, jobId, draftedAt }) => draftedAt && jobId && jobPath({ install, jobId }) },
  ],
  ['id', ({ jobId }) => jobId, { isBeneath: true }],
  ['install', ({ install }) => install, { isBeneath: true }],
  ['project', ({ project }) => project, { isBeneath: true }],
  ['state', ({ state }) => state, { as: 'state' }],
  ['waits for', ({ waitsFor }) => waitsFor, { to: ({ url }) => url }],
  ['contract', ({ contractId }) => contractId, { to: ({ contractId }) => contractId && contractPath(contractId) }],
  ['drafted', ({ draftedAt }) => draftedAt, { as: 'age' }],
  ['published', ({ publishedAt }) => publishedAt, { as: 'age' }],
  ['requested', ({ askedAt }) => askedAt, { as: 'age' }],
  ['decided', ({ decidedAt }) => decidedAt, { as: 'age' }],
  ['started', ({ startedAt }) => startedAt, { as: 'age' }],
  ['in the tool', ({ accessAt }) => accessAt, { as: 'age' }],
  ['first work', ({ workedOn }) => workedOn],
];

type Found = Awaited<ReturnType<typeof listHires>>[number];

export async function listAllHires(ctx: Context, install: string | undefined): Promise<Hire[]> {
  const now = ctx.clock.now().toISOString();
  const found = await listHires(ctx, install);
  return found.map((one) => {
    const { missing: _, status: __, expiresAt, url, ...hire } = one;
    return { ...hire, url: (expiresAt ?? '') > now ? url : null, ...stepOf(one) };
  });
}

const waiting = (waitsFor: string) => ({ state: 'waiting', waitsFor }) as const;

/** The first step that is not done. */
function stepOf({ missing, publishedAt, status, ...hire }: Found): Pick<Hire, 'state' | 'waitsFor'> {
  const fields = missingOf({ missing: missing ?? '[]' }).map(({ field, label }) => label ?? field);
  if (fields.length > 0) return waiting(`answers: ${fields.join(', ')}`);
  if (status === null) return waiting(publishedAt === null ? 'its publication' : 'a choice among the proposals');
  if (status === 'asked') return waiting('an answer that was lost: look in your account at the marketplace');
  if (status === 'pending') return waiting('a person to confirm it');
  if (status !== 'confirmed') return { state: status, waitsFor: null };
  if (hire.endedAt !== null) return { state: 'ended', waitsFor: null };
  if (hire.startedAt === null) return waiting('the contract');
  if (hire.accessAt === null) return waiting('access to the tool');
  return { state: 'active', waitsFor: hire.workedOn === null ? 'the first work' : null };
}
