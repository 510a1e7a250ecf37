import { AppError } from '../domain/errors.ts';
import type { Link, NewLink } from './source.ts';

/**
 * Which job leads to which project, where the marketplace holds no such links: those of the configuration, and those
 * that operators add.
 */
export interface JobLinks {
  list(): Promise<Link[]>;
  /** @throws AppError `conflict` if the job leads to that project already */
  create(wanted: NewLink): Promise<Link>;
  /** @throws AppError `not_found`, or `conflict` if the configuration names the link */
  remove(linkId: string): Promise<void>;
}

/** A link of Gangway's own: Gangway provisions its project. */
export function toLink(id: string, jobId: string, externalProjectId: string): Link {
  return { id, jobId, externalProjectId, externalProjectName: null, provisioningMode: 'PARTNER_WEBHOOK' };
}

/** Only these links, if no database has others. @param jobs the id of a job, and a project of it */
export function fixedLinks(jobs: Iterable<readonly [jobId: string, project: string]>): JobLinks {
  const refuse = async () => {
    throw new AppError('unavailable', 'There is no database that holds links');
  };
  return {
    list: async () => [...jobs].map(([jobId, project]) => toLink(`${jobId} ${project}`, jobId, project)),
    create: refuse,
    remove: refuse,
  };
}
