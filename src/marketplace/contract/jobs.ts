import { z } from 'zod';
import { family, op } from './operation.ts';
import { Freelancer, paymentTypes } from './records.ts';
import { id, instant, note, paging } from './requests.ts';
import { fields, lenient, listing, maybeWord, pageOf, words } from './shapes.ts';
import { Amount, AnyRecord, Count, Flag, Id, Instant, MaybeId, Text, WebUrl, Words } from './values.ts';

/** Drafts and jobs (spec: part A sections 2.3 and 4.4). */

const text = z.string().max(60_000);
const texts = z.array(z.string());
const price = z.number().nonnegative();

/** Those that the specification describes; the capabilities name the others. */
const draftFields = {
  jobTitle: z.string(),
  jobDescription: text,
  paymentType: z.enum(paymentTypes),
  ...fields(price, 'pricePerHour', 'pricePerLabel', 'fixedPrice'),
  experienceLevel: z.enum(['EXPERT', 'ENTRY_LEVEL', 'INTERMEDIATE', 'ANY_EXPERIENCE_LEVEL']),
  dataVolumeUnit: z.enum([
    'HOURS_OF_RECORDING_AUDIO_VIDEO',
    'NUMBER_OF_FILES',
    'NUMBER_OF_WORDS',
    'UNKNOWN_NOT_SPECIFIED',
  ]),
  dataVolume: price,
  headcount: z.int().min(1),
  ...fields(texts, 'languages', 'countries', 'labelTypes'),
  ...fields(z.string(), 'labelingOverview', 'datasetDescription', 'dataType', 'subjectMatter', 'labelingSoftware'),
  ...fields(z.string(), 'aiInterviewRequirements', 'budgetRange', 'workloadDesc', 'timeRequirement', 'projectDuration'),
  ...fields(z.string(), 'freelancerType', 'projectScope', 'visibility'),
};

export const DraftUpdate = z.strictObject(draftFields).partial();
export type DraftUpdate = z.infer<typeof DraftUpdate>;

export const importFormats = ['text', 'opentrain_canonical', 'schema_org_job_posting', 'indeed_xml', 'hr_xml'] as const;
const format = z.enum(importFormats).optional();
const key = z.string().min(1).max(256).optional();
const ofImport = { externalId: key, idempotencyKey: key };

export const MissingField = z.object({
  field: z.string(),
  ...fields(Text, 'label', 'message', 'code', 'prompt', 'type'),
  enumValues: lenient(Words.nullable()),
  updateKeys: Words,
  example: Text,
  hint: Text,
});
export type MissingField = z.infer<typeof MissingField>;

const Validation = z.object({
  publishReady: z.boolean(),
  issueCount: Count,
  missingFieldCount: Count,
  missingFields: z.array(MissingField),
  issues: z.array(z.unknown()),
});

const Draft = z.object({ ok: Flag, jobId: Id, status: words('DRAFT'), draftUrl: WebUrl, validation: Validation });

const FieldNote = z.object({ path: z.string(), reason: Text, valuePreview: Text });

export const drafts = family('drafts', {
  section: 'A 4.4',
  scopes: ['jobs:write'],
  feature: 'public_api_job_drafting',
})({
  create: op('POST /job-drafts', 'create a draft of a job', {
    in: z.object({
      rawJobDescription: text.optional(),
      source: z.object({ type: format, text: text.optional(), ...ofImport }).optional(),
      format,
      job: z.record(z.string(), z.unknown()).optional(),
      jsonLd: z.unknown().optional(),
      xml: text.optional(),
      ...ofImport,
    }),
    out: Draft.extend({
      reviewUrl: WebUrl,
      missingFields: z.array(MissingField),
      normalizedFields: AnyRecord,
      warnings: Words,
      unmappedFields: z.array(FieldNote),
      lowConfidenceFields: z.array(FieldNote),
      import: lenient(AnyRecord),
      parser: lenient(AnyRecord),
    }),
    idempotency: 'body',
    limits: ['60,000 characters of description', '256 characters of externalId and idempotencyKey'],
  }),
  update: op('PATCH /job-drafts/{jobId}', 'update a draft of a job', { in: DraftUpdate, out: Draft, refusals: [409] }),
  capabilities: op('GET /job-drafts/capabilities', 'read what a draft may have', {
    scopes: ['jobs:read'],
    out: z.object({
      draft: z.object({ updateKeys: Words, enums: AnyRecord }),
      capabilities: z.object({ publish: z.unknown() }),
    }),
    assumed: 'The scope jobs:read.',
  }),
});

const Job = z.object({
  id: Id,
  title: Text,
  status: words('DRAFT', 'OPEN', 'CLOSED'),
  paymentType: maybeWord(...paymentTypes),
  jobUrl: WebUrl,
  createdAt: Instant,
  updatedAt: Instant,
});

export const Proposal = z.object({
  id: Id,
  jobId: Id,
  status: words('PENDING', 'ACCEPTED', 'REJECTED', 'NOT_FIT'),
  freelancer: lenient(Freelancer),
  coverLetter: lenient(z.string().nullable()),
  rateUsd: Amount,
  createdAt: Instant,
  aiInterview: lenient(z.object({ transcriptAvailable: Flag, score: Amount }).nullable()),
});
export type Proposal = z.infer<typeof Proposal>;

/** Why a person cannot be chosen for a job. */
export const ofChoice = ['job_not_published', 'not_a_freelancer', 'freelancer_unavailable'] as const;

const listingRecord = 'A listing record: id, title, status, paymentType, jobUrl, createdAt, updatedAt.';
const OneJob = z.object({ job: Job });
const ofPublic = {
  credential: 'none',
  scopes: [],
  assumed: `${listingRecord} Filters by text, and lists with a cursor.`,
} as const;

export const jobs = family('jobs', { section: 'A 4.4', scopes: ['jobs:write'] })({
  search: op('GET /jobs', 'search the published jobs', {
    ...ofPublic,
    in: z.object({ q: z.string().optional(), paymentType: z.enum(paymentTypes).optional(), ...paging() }),
    out: pageOf('jobs', Job),
  }),
  facets: op('GET /jobs/facets', 'count the published jobs by what they have', {
    ...ofPublic,
    out: z.object({ facets: AnyRecord }),
  }),
  changes: op('GET /jobs/changes', 'list the jobs that changed since an instant', {
    ...ofPublic,
    in: z.object({ since: instant, ...paging() }),
    out: pageOf('jobs', Job),
  }),
  mine: op('GET /jobs/mine', 'list the jobs of the account', {
    scopes: ['jobs:read'],
    ...listing('jobs', Job, 25, 100),
    assumed: listingRecord,
  }),
  update: op('PATCH /jobs/{jobId}', 'update a published job', {
    in: DraftUpdate,
    out: OneJob,
    reasons: ['job_not_published'],
    assumed: 'The keys of a draft, and a record of the job.',
  }),
  publish: op('POST /jobs/{jobId}/publish', 'publish a job', {
    feature: 'public_api_job_publishing',
    out: z.object({
      ok: Flag,
      jobId: Id,
      status: words('OPEN'),
      alreadyPublished: Flag,
      jobUrl: WebUrl,
      publishAttemptId: MaybeId,
      warnings: lenient(Words),
      sideEffects: lenient(AnyRecord),
    }),
    limits: ['20 a day for a claimed account, 3 otherwise'],
    reasons: ['moderation_blocked'],
    refusals: [400, 409, 429],
  }),
  close: op('POST /jobs/{jobId}/close', 'close a job', {
    out: OneJob,
    isFinal: true,
    assumed: 'No body; the record of the job with the status CLOSED.',
  }),
  invite: op('POST /jobs/{jobId}/invites', 'invite an AI trainer to a job', {
    in: z.object({ freelancerId: id, message: note }),
    out: z.object({ alreadyInvited: z.boolean(), invite: lenient(z.object({ id: Id, createdAt: Instant })) }),
    reasons: ofChoice,
    assumed: 'The path, the body {freelancerId, message} and the record of the invite.',
  }),
  proposals: op('GET /jobs/{jobId}/proposals', 'list the proposals for a job', {
    scopes: ['proposals:read'],
    ...listing('proposals', Proposal, 25, 100),
    assumed: 'The records of proposals.',
  }),
});
