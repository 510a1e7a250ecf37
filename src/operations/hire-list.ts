import { z } from 'zod';
import type { Context } from '../context.ts';
import { listHires, type Posting } from '../hires/hire-store.ts';
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
  ['job', ({ title, jobId }) => title ?? jobId, { to: (hire) => hire.draftedAt && jobPath(hire) }],
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

type Approved = Awaited<ReturnType<typeof listHires>>['hires'][number];

/** The jobs drafted from here with their hires, and hires for other jobs. */
export async function listAllHires(ctx: Context, install: string | undefined): Promise<Hire[]> {
  const { postings, hires } = await listHires(ctx, install);
  const keyOf = ({ install, jobId }: { install: string; jobId: string | null }) => JSON.stringify([install, jobId]);
  const ofJob = Map.groupBy(hires, keyOf);
  const known = new Set(postings.map(keyOf));
  const now = ctx.clock.now().toISOString();
  return [
    ...postings.flatMap((posting) =>
      (ofJob.get(keyOf(posting)) ?? [undefined]).map((hire) => toHire(posting, hire, now)),
    ),
    ...hires.filter((hire) => !known.has(keyOf(hire))).map((hire) => toHire(undefined, hire, now)),
  ];
}

const noPosting = { title: null, project: null, draftedAt: null, publishedAt: null, missing: null };
const nothing = {
  subject: null,
  contractId: null,
  url: null,
  expiresAt: null,
  askedAt: null,
  decidedAt: null,
} as const;
const noHire = { ...nothing, contractTitle: null, startedAt: null, accessAt: null, workedOn: null, endedAt: null };

function toHire(posting: Posting | undefined, hire: Approved | undefined, now: string): Hire {
  const { install = '', jobId = null } = hire ?? posting ?? {};
  const { title, ...drafted } = posting ?? noPosting;
  const { subject: proposalId, contractTitle, expiresAt, ...asked } = hire ?? noHire;
  const url = (expiresAt ?? '') > now ? asked.url : null;
  const step = hire === undefined ? stepOfJob(posting ?? noPosting) : stepOfHire(hire);
  return { ...drafted, ...asked, install, jobId, title: title ?? contractTitle, proposalId, url, ...step };
}

type Next = Pick<Hire, 'state' | 'waitsFor'>;

const waiting = (waitsFor: string): Next => ({ state: 'waiting', waitsFor });

function stepOfJob(posting: Pick<Posting, 'missing' | 'publishedAt'>): Next {
  const missing = missingOf(posting).map(({ field, label }) => label ?? field);
  if (missing.length > 0) return waiting(`answers: ${missing.join(', ')}`);
  return waiting(posting.publishedAt === null ? 'its publication' : 'a choice among the proposals');
}

/** The first step that is not done. */
function stepOfHire({ status, startedAt, accessAt, workedOn, endedAt }: Approved): Next {
  if (status === 'asked') return waiting('an answer that was lost: look in your account at the marketplace');
  if (status === 'pending') return waiting('a person to confirm it');
  if (status !== 'confirmed') return { state: status, waitsFor: null };
  if (endedAt !== null) return { state: 'ended', waitsFor: null };
  if (startedAt === null) return waiting('the contract');
  if (accessAt === null) return waiting('access to the tool');
  return { state: 'active', waitsFor: workedOn === null ? 'the first work' : null };
}
