import { dayMs } from '../../lib/clock.ts';
import { type DraftUpdate, drafts, jobs } from '../../marketplace/contract/jobs.ts';
import { type AccountCall, type CallOf, forAccount, forAnyone, type Route } from '../api-router.ts';
import { addJob, changeJob } from '../contract-control.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import { toPage } from '../public-shapes.ts';
import type { Job, SandboxState } from '../sandbox-state.ts';
import { site } from './account.ts';
import { draftEnums, draftFields, importDraft, validate } from './drafts.ts';
import { findJob, refuse, requireJob } from './employer-route.ts';
import { requireHireable, toRecord } from './hiring-routes.ts';

/** Drafts and jobs (spec: part A section 4.4). */
export const jobRoutes: readonly Route[] = [
  forAccount(drafts.create, createDraft),
  forAccount(drafts.update, (call) => {
    const job = requireJob(call, call.input.jobId);
    if (job.status !== 'DRAFT') throw new Refusal('conflict', 'The job is no draft any more', { status: job.status });
    changeJob(call.marketplace, job, toChanges(call.input));
    return toDraft(job);
  }),
  forAccount(drafts.capabilities, () => ({
    draft: { updateKeys: draftFields, enums: draftEnums },
    capabilities: { publish: { perDay: publishesPerDay } },
  })),
  forAnyone(jobs.search, ({ marketplace: { state }, input }) => {
    const { q = '', paymentType } = input;
    const found = openJobs(state)
      .filter((job) => `${job.title} ${job.fields.jobDescription}`.toLowerCase().includes(q.toLowerCase()))
      .filter((job) => paymentType === undefined || job.paymentType === paymentType);
    return toPage('jobs', found.map(toListing), input);
  }),
  forAnyone(jobs.facets, ({ marketplace: { state } }) => {
    const facets = facetFields.map((field) => [field, countWords(openJobs(state), field)]);
    return { facets: Object.fromEntries(facets) };
  }),
  forAnyone(jobs.changes, ({ marketplace: { state }, input }) => {
    const sinceMs = Date.parse(input.since);
    const changed = [...state.jobs.values()].filter(
      ({ status, updatedAt }) => status !== 'DRAFT' && Date.parse(updatedAt) > sinceMs,
    );
    return toPage('jobs', changed.map(toListing), input);
  }),
  forAccount(jobs.mine, ({ marketplace: { state }, account, input }) => {
    const own = [...state.jobs.values()].filter(({ organizationId }) => organizationId === account.id);
    return toPage('jobs', own.reverse().map(toListing), input);
  }),
  forAccount(jobs.update, (call) => {
    const job = findJob(call, call.input.jobId);
    requireOpen(job);
    changeJob(call.marketplace, job, toChanges(call.input));
    return { job: toListing(job) };
  }),
  forAccount(jobs.publish, publish),
  forAccount(jobs.close, (call) => {
    const job = findJob(call, call.input.jobId);
    if (job.status !== 'CLOSED') changeJob(call.marketplace, job, {});
    job.status = 'CLOSED';
    return { job: toListing(job) };
  }),
  forAccount(jobs.invite, invite),
  forAccount(jobs.proposals, (call) => {
    const job = findJob(call, call.input.jobId);
    const proposals = [...call.marketplace.state.proposals.values()].filter((one) => one.job === job);
    return toPage('proposals', proposals.reverse().map(toRecord), call.input);
  }),
];

function createDraft({ marketplace, account, input }: CallOf<typeof drafts.create>) {
  const { format, fields, ...notes } = importDraft(input);
  const idempotencyKey = input.idempotencyKey ?? input.source?.idempotencyKey;
  const externalId = input.externalId ?? input.source?.externalId ?? null;
  const isSame = (one: Job) => one.organizationId === account.id && one.idempotencyKey === idempotencyKey;
  const known = idempotencyKey === undefined ? undefined : [...marketplace.state.jobs.values()].find(isSame);
  const job = known ?? addJob(marketplace, account.id, 'DRAFT', fields, idempotencyKey);
  const draft = toDraft(job);
  const origin = { format, externalId, idempotencyKey: idempotencyKey ?? null };
  return {
    ...draft,
    reviewUrl: `${jobUrlOf(job)}/review`,
    missingFields: draft.validation.missingFields,
    normalizedFields: fields,
    warnings: [],
    ...notes,
    import: { ...origin, rawSourcePreserved: true, autoPublished: false },
    parser: { source: format, warnings: [], parsedFields: Object.keys(fields) },
  };
}

function toDraft(job: Job) {
  const validation = validate(job.fields);
  return { ok: true, jobId: job.id, status: 'DRAFT', draftUrl: `${jobUrlOf(job)}/draft`, validation };
}

function toChanges({ jobId: _, ...changes }: DraftUpdate & { jobId: string }): DraftUpdate {
  if (Object.keys(changes).length > 0) return changes;
  throw new Refusal('invalid', 'The request has no field to set', { formErrors: ['No field'], fieldErrors: {} });
}

function jobUrlOf({ id }: Job): string {
  return `${site}/jobs/${id}`;
}

function toListing(job: Job) {
  const { id, title, status, paymentType, createdAt, updatedAt } = job;
  return { id, title, status, paymentType, jobUrl: jobUrlOf(job), createdAt, updatedAt };
}

/** Of all employers, newest first. */
function openJobs({ jobs: all }: SandboxState): Job[] {
  return [...all.values()].filter(({ status }) => status === 'OPEN').reverse();
}

function requireOpen({ status }: Job): void {
  if (status !== 'OPEN') throw refusalOf('job_not_published');
}

const facetFields = ['paymentType', 'experienceLevel', 'languages', 'countries', 'labelTypes'] as const;

function countWords(all: Job[], field: (typeof facetFields)[number]): Record<string, number> {
  const words = all.flatMap(({ fields }) => fields[field] ?? []);
  return Object.fromEntries([...Map.groupBy(words, (word) => word)].map(([word, same]) => [word, same.length]));
}

const publishesPerDay = { claimed: 20, unclaimed: 3 };

function publish(call: CallOf<typeof jobs.publish>) {
  const { marketplace } = call;
  const job = findJob(call, call.input.jobId);
  const alreadyPublished = job.status === 'OPEN';
  if (job.status === 'CLOSED') throw new Refusal('conflict', 'The job is closed', { status: job.status });
  if (!alreadyPublished) {
    requireReady(job);
    requireAllowance(call);
    changeJob(marketplace, job, {});
    job.status = 'OPEN';
    job.publishedAt = job.updatedAt;
  }
  return {
    ok: true,
    jobId: job.id,
    status: job.status,
    alreadyPublished,
    jobUrl: jobUrlOf(job),
    publishAttemptId: alreadyPublished ? null : marketplace.ids.next('pub'),
    warnings: [],
    sideEffects: { dispatched: !alreadyPublished, status: alreadyPublished ? 'none' : 'queued' },
  };
}

/** What the moderation of the sandbox refuses in any text of a job. */
const blockedText = /forbidden content/i;

function requireReady({ fields }: Job): void {
  const validation = validate(fields);
  if (!validation.publishReady) throw new Refusal('invalid', 'The draft is not ready', { validation });
  const blocked = Object.entries(fields).filter(([, value]) => blockedText.test(String(value)));
  const reasons = blocked.map(([field]) => `The ${field} has forbidden content`);
  if (reasons.length > 0) throw refusalOf('moderation_blocked', { reasons });
}

function requireAllowance({ marketplace: { state, now }, account }: AccountCall): void {
  const since = now(-dayMs);
  const limit = publishesPerDay[account.isClaimed ? 'claimed' : 'unclaimed'];
  const published = [...state.jobs.values()].flatMap(({ organizationId, publishedAt }) =>
    organizationId === account.id && publishedAt !== null && publishedAt > since ? [publishedAt] : [],
  );
  const oldest = published.sort().at(-limit);
  if (oldest === undefined) return;
  const waitMs = Date.parse(oldest) - Date.parse(since);
  throw new Refusal('rate_limited', `${limit} jobs were published in 24 hours`, { limit, windowHours: 24 }, waitMs);
}

function invite(call: CallOf<typeof jobs.invite>) {
  const { state, ids, now } = call.marketplace;
  const { jobId, freelancerId } = call.input;
  const job = findJob(call, jobId);
  const key = `${jobId} ${freelancerId}`;
  const known = state.invites.get(key);
  if (known !== undefined) return { alreadyInvited: true, invite: known };
  requireOpen(job);
  requireHireable(state, freelancerId);
  if (!state.trainers.has(freelancerId)) refuse('freelancers', { freelancerId });
  const made = { id: ids.next('jinv'), createdAt: now() };
  state.invites.set(key, made);
  return { alreadyInvited: false, invite: made };
}
