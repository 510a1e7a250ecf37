import type { Context } from '../../context.ts';
import { maskText } from '../../lib/mask.ts';
import type { UnreadLink } from '../../sources/source.ts';

/** Raises an alert for each job whose contracts were refused. It is over once they are answered again. */
export function reportUnreadJobs({ alerts }: Context, install: string, unreadLinks: readonly UnreadLink[]): void {
  const refusals = new Map(unreadLinks.map(({ jobId, refusal }) => [jobId, refusal]));
  for (const [job, { message }] of refusals) {
    alerts.raise(
      'job_unread',
      { install, job, reason: maskText(message) },
      'The contracts of a job cannot be read: nobody is removed because of it, and nobody new gets in. See that the job belongs to the account of the token, or take its link away with "gangway links remove"',
    );
  }
  alerts.observe(
    'job_unread',
    { install },
    [...refusals.keys()].map((job) => ({ job })),
  );
}
