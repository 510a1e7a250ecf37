import type { EmployerCall } from './employer-operations.ts';
import { hourMs } from './employer-state.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';

/** Job drafts and their publishing (spec: part A, sections 2.3 and 4.4). */

const enums: Record<string, string[]> = {
  paymentType: ['PAY_PER_LABEL', 'PAY_PER_HOUR', 'FIXED_PRICE'],
  experienceLevel: ['EXPERT', 'ENTRY_LEVEL', 'INTERMEDIATE', 'ANY_EXPERIENCE_LEVEL'],
  dataVolumeUnit: ['HOURS_OF_RECORDING_AUDIO_VIDEO', 'NUMBER_OF_FILES', 'NUMBER_OF_WORDS', 'UNKNOWN_NOT_SPECIFIED'],
};
const words = (text: string): string[] => text.split(' ');
const numbers = words('pricePerHour pricePerLabel fixedPrice dataVolume headcount');
const lists = words('languages countries labelTypes');
const texts = [
  ...words('jobTitle jobDescription labelingOverview datasetDescription dataType subjectMatter labelingSoftware'),
  ...words('aiInterviewRequirements budgetRange workloadDesc timeRequirement projectDuration freelancerType'),
  ...words('projectScope visibility'),
];
const updateKeys = [...texts, ...numbers, ...lists, ...Object.keys(enums)];
const supportedFormats = words('text opentrain_canonical schema_org_job_posting indeed_xml hr_xml');
const prices = new Map([
  ['PAY_PER_HOUR', 'pricePerHour'],
  ['PAY_PER_LABEL', 'pricePerLabel'],
  ['FIXED_PRICE', 'fixedPrice'],
]);

export function showCapabilities(): object {
  return { draft: { updateKeys, enums }, capabilities: { publish: true } };
}

function typeOf(key: string): string {
  if (key in enums) return 'enum';
  if (numbers.includes(key)) return 'number';
  return lists.includes(key) ? 'string[]' : 'string';
}

function isRight(key: string, value: unknown): boolean {
  const type = typeOf(key);
  if (type === 'enum') return enums[key]?.includes(String(value)) === true;
  if (type === 'string[]') return Array.isArray(value) && value.every((one) => typeof one === 'string');
  return typeof value === type;
}

function validate(fields: Record<string, unknown>) {
  const price = prices.get(String(fields['paymentType'])) ?? 'paymentType';
  const needed = [...new Set(['jobTitle', 'jobDescription', 'paymentType', price, 'labelTypes'])];
  const missingFields = needed.filter((key) => fields[key] === undefined).map(showMissing);
  const { length } = missingFields;
  return { publishReady: length === 0, issueCount: length, missingFieldCount: length, missingFields, issues: [] };
}

function showMissing(field: string): object {
  const texts = { label: field, message: `${field} is required`, code: 'required', prompt: `What is the ${field}?` };
  const type = typeOf(field);
  return { field, ...texts, type, enumValues: enums[field] ?? null, updateKeys: [field], example: null, hint: null };
}

function textIn(value: unknown, name: string, longest: number): string | null {
  if (value === undefined || value === null) return null;
  demand(typeof value === 'string' && value.length <= longest, `${name} is not valid`);
  return value;
}

/** A text is not understood: its first line is the title, and all of it the description. */
function readSource(body: Record<string, unknown>) {
  demand(Object.keys(body).length > 0, 'the body is empty');
  const source = Object(body['source']);
  const raw = textIn(body['rawJobDescription'] ?? source.text, 'the description', 60_000);
  const format = String(source.type ?? body['format'] ?? (raw === null ? '' : 'text'));
  demand(supportedFormats.includes(format), 'the format is not supported', { supportedFormats });
  const { title, description, ...job } = Object(body['job']);
  const found = { ...job, jobTitle: title ?? raw?.split('\n')[0], jobDescription: description ?? raw ?? undefined };
  return {
    format,
    externalId: textIn(body['externalId'] ?? source.externalId, 'externalId', 256),
    idempotencyKey: textIn(body['idempotencyKey'] ?? source.idempotencyKey, 'idempotencyKey', 256),
    fields: Object.fromEntries(Object.entries(found).filter(([key]) => updateKeys.includes(key))),
  };
}

export function createDraft({ state, account, body }: EmployerCall): object {
  const { fields, format, externalId, idempotencyKey } = readSource(body);
  const isRepeated = (job: { key?: string | null }) => job.key !== null && job.key === idempotencyKey;
  const made = { status: 'DRAFT', fields, key: idempotencyKey };
  const job = state.list('job', account.id).find(isRepeated) ?? state.keep('job', account.id, made);
  const validation = validate(job.fields);
  return {
    ...showDraft(job),
    ...{ reviewUrl: `https://second.example/jobs/${job.id}/review`, validation },
    ...{ missingFields: validation.missingFields, normalizedFields: job.fields },
    ...{ warnings: [], unmappedFields: [], lowConfidenceFields: [] },
    import: { format, externalId, idempotencyKey, rawSourcePreserved: true, autoPublished: false },
    parser: { source: format, warnings: [], parsedFields: Object.keys(job.fields) },
  };
}

function showDraft({ id, status }: { id: string; status: string }): object {
  return { ok: true, jobId: id, status, draftUrl: `https://second.example/jobs/${id}/draft` };
}

export function updateDraft({ state, account, body, ids: [id] }: EmployerCall): object {
  const { accountId, record: job } = orNotFound(state.find('job', id), 'Job');
  if (accountId !== account.id) throw new Refusal('FORBIDDEN', 'the job belongs to another account');
  if (job.status !== 'DRAFT') throw new Refusal('CONFLICT', 'the job is live');
  const unknown = Object.keys(body).filter((key) => !updateKeys.includes(key));
  const wrong = Object.keys(body).filter((key) => updateKeys.includes(key) && !isRight(key, body[key]));
  demand(unknown.length + wrong.length === 0, 'the fields are not valid', {
    formErrors: unknown.map((key) => `Unknown key ${key}`),
    fieldErrors: Object.fromEntries(wrong.map((key) => [key, [`${key} must be ${typeOf(key)}`]])),
  });
  demand(Object.keys(body).length > 0, 'no field is set');
  Object.assign(job.fields, body);
  return { ...showDraft(job), validation: validate(job.fields) };
}

export function publish({ state, account, ids: [id] }: EmployerCall): object {
  const job = state.own('job', account, id);
  const alreadyPublished = job.status === 'OPEN';
  if (!alreadyPublished) {
    const validation = validate(job.fields);
    demand(validation.publishReady, 'the draft is not ready', { validation });
    // What moderation blocks is not written: these words, here.
    const reasons = Object.keys(job.fields).filter((key) => /forbidden content/i.test(String(job.fields[key])));
    const details = { reason: 'moderation_blocked', reasons };
    if (reasons.length > 0) throw new Refusal('FORBIDDEN', 'the job is blocked', details);
    const limit = account.isClaimed ? 20 : 3;
    state.count(account.id, { limit, windowMs: 24 * hourMs, details: { limit, windowHours: 24 } });
    job.status = 'OPEN';
  }
  return {
    ...{ ok: true, jobId: id, status: job.status, alreadyPublished, jobUrl: `https://second.example/jobs/${id}` },
    ...{ publishAttemptId: alreadyPublished ? null : state.nextId('pub'), warnings: [] },
    sideEffects: { dispatched: !alreadyPublished, status: 'done' },
  };
}
