import { jobRule } from '../../config/text-rules.ts';
import type { Context } from '../../context.ts';
import type { By } from '../../db/audit-store.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { Walls } from '../../memberships/wall.ts';
import type { Source } from '../../sources/source.ts';
import { addLink, refuseOutside } from '../change-links.ts';

/** The people of a job are to work in a project. */
export interface WantedJob {
  job: string;
  project: string;
}

/**
 * Reads `job_1=street-signs`. A job may be named for several projects.
 *
 * @throws AppError `invalid`
 */
export function toWantedJobs(texts: readonly string[]): WantedJob[] {
  return texts.map((text) => {
    if (!jobRule.pattern.test(text)) throw new AppError('invalid', `The jobs of your account: ${jobRule.says}`);
    const end = text.indexOf('=');
    return { job: text.slice(0, end), project: text.slice(end + 1) };
  });
}

/**
 * Nothing is stored of an account one of whose jobs would let no trainer in.
 *
 * @param walls with the install as it is to be
 * @param source whose links are the wanted ones
 * @throws AppError `conflict` where a project is outside the install's wall; `forbidden` or `not_found` where a job is
 * another account's, or is none
 */
export async function refuseJobs(
  walls: Walls,
  source: Pick<Source, 'listContracts'>,
  install: string,
  jobs: readonly WantedJob[],
  signal: AbortSignal,
): Promise<void> {
  if (jobs.length === 0) return;
  for (const { project } of jobs) refuseOutside(walls, install, project);
  const { unreadLinks: [unread] = [] } = await source
    .listContracts({ status: 'active', wantsMore: () => false }, signal)
    .catch((error: unknown) => {
      throw toRefused(toAppError(error));
    });
  if (unread !== undefined) throw toRefused(unread.refusal);
}

/** The message names the job. Other failures are not about it. */
function toRefused(refusal: AppError): AppError {
  const { code, message } = refusal;
  if (code !== 'forbidden' && code !== 'not_found') return refusal;
  return new AppError(code, `${message}. Nothing was stored. Each job must belong to the account of this token`);
}

/** Links what is not linked yet, and has the install read. */
export async function linkJobs(
  ctx: Context,
  by: By,
  source: Source,
  install: string,
  jobs: readonly WantedJob[],
  signal: AbortSignal,
): Promise<void> {
  if (jobs.length === 0) return;
  const listed = await source.listLinks(signal);
  for (const { job: jobId, project: externalProjectId } of jobs) {
    const isLinked = listed.some((link) => link.jobId === jobId && link.externalProjectId === externalProjectId);
    if (!isLinked) listed.push(await addLink(ctx, by, source, install, { externalProjectId, jobId }, signal));
  }
}
