import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { accountOf } from '../hires/account.ts';
import { addPosting, changePosting, findPosting, type Posting } from '../hires/hire-store.ts';
import { DraftUpdate, drafts, jobs, MissingField } from '../marketplace/contract/jobs.ts';
import type { Sent } from '../marketplace/contract/operation.ts';
import { detailsOf } from '../marketplace/refusal.ts';
import { linkJobs, refuseOutside } from './change-links.ts';
import { fieldsOf, fromTexts } from './input.ts';

interface WantedDraft {
  install: string;
  project: string;
  text: string;
  /** Tells drafts of the same text apart. */
  key?: string | undefined;
  /** Answers, such as `pricePerHour=20`. */
  set?: readonly string[] | undefined;
}

/**
 * Makes a draft of a job from a text. The same text for the same project is the same draft, however often it is given.
 *
 * @throws AppError `conflict` if the project is outside the install's wall; otherwise the refusal of the marketplace
 */
export async function draftJob(ctx: Context, by: By, wanted: WantedDraft, signal: AbortSignal): Promise<Posting> {
  const { install, project, text, key = '', set = [] } = wanted;
  const { call } = accountOf(ctx, install);
  refuseOutside(ctx, install, project);
  const draftKey = hash('sha256', JSON.stringify([project, key, text]));
  const [title = ''] = /[^#\s].{0,199}/.exec(text) ?? [];
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'hire draft', `${install}/${project}`));
  const input = { rawJobDescription: text, idempotencyKey: draftKey };
  const { jobId, validation } = await call(drafts.create, input, signal);
  const made = { install, draftKey, project, title, draftedAt: by.at, jobId, publishedAt: null, jobUrl: null };
  const missing = JSON.stringify(validation.missingFields);
  const drafted = await inTransaction(ctx.database, (tx) => addPosting(tx, { ...made, missing }));
  return set.length === 0 ? drafted : await answerFields(ctx, by, { install, job: jobId, set }, signal);
}

interface Answers {
  install: string;
  job: string;
  set: readonly string[];
}

/** Fills in fields of a draft. */
export async function answerFields(ctx: Context, by: By, answers: Answers, signal: AbortSignal): Promise<Posting> {
  const { install, job: jobId, set } = answers;
  const posting = await onePosting(ctx, install, jobId);
  const input = { ...toFields(set, missingOf(posting)), jobId } as Sent<typeof drafts.update>;
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'hire answer', `${install}/${jobId}`));
  const { validation } = await accountOf(ctx, install).call(drafts.update, input, signal);
  return await keepMissing(ctx, posting, validation.missingFields);
}

/** @throws AppError `not_found` */
export async function onePosting(ctx: Context, install: string, jobId: string): Promise<Posting> {
  const posting = await findPosting(ctx.database.kysely, install, jobId);
  if (posting !== undefined) return posting;
  throw new AppError('not_found', `${install} has no job ${jobId} that was drafted here: gangway hire draft <file>`);
}

async function keepMissing(ctx: Context, posting: Posting, missing: MissingField[]): Promise<Posting> {
  return await keep(ctx, { ...posting, missing: JSON.stringify(missing) });
}

async function keep(ctx: Context, posting: Posting): Promise<Posting> {
  await inTransaction(ctx.database, (tx) => changePosting(tx, posting));
  return posting;
}

export function missingOf({ missing }: Pick<Posting, 'missing'>): MissingField[] {
  return JSON.parse(missing) as MissingField[];
}

/** Converts answers to the types of their fields. The marketplace judges those that do not fit. */
function toFields(set: readonly string[], missing: readonly MissingField[]): Record<string, unknown> {
  const known = fieldsOf(DraftUpdate);
  const typeOf = (key: string) =>
    known.get(key)?.type ?? missing.find(({ updateKeys }) => updateKeys.includes(key))?.type ?? 'text';
  const pairs = set.map((one) => {
    const end = one.indexOf('=');
    const [key, text] = [one.slice(0, end), one.slice(end + 1)];
    if (end < 1) throw new AppError('invalid', 'An answer must be a field and its value, such as pricePerHour=20');
    const type = typeOf(key);
    if (type === 'list' || type === 'string[]') return [key, text.split(',').flatMap((item) => item.trim() || [])];
    return [key, type === 'number' && !known.has(key) ? Number(text) : text];
  });
  return fromTexts(DraftUpdate as z.ZodType, Object.fromEntries(pairs));
}

/**
 * Publishes a job, and links it to its project, so that whom it hires gets in. It may be repeated.
 *
 * @throws AppError the refusal of the marketplace
 */
export async function publishJob(
  ctx: Context,
  by: By,
  { install, job: jobId }: { install: string; job: string },
  signal: AbortSignal,
): Promise<Posting> {
  const posting = await onePosting(ctx, install, jobId);
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'hire publish', `${install}/${jobId}`));
  const { jobUrl = null } = await accountOf(ctx, install)
    .call(jobs.publish, { jobId }, signal)
    .catch(async (error: unknown) => {
      const { missingFields } = Object(Object(detailsOf(error)).validation);
      const { data } = MissingField.array().safeParse(missingFields);
      if (data !== undefined) await keepMissing(ctx, posting, data);
      throw error;
    });
  await linkJobs(ctx, by, install, [{ job: jobId, project: posting.project }], signal);
  return await keep(ctx, { ...posting, publishedAt: posting.publishedAt ?? by.at, jobUrl, missing: '[]' });
}
