import type { Context } from '../../context.ts';
import { maskText } from '../../lib/mask.ts';
import type { UnreadLink } from '../../sources/source.ts';

/** Raises an alert for each job whose contracts were refused. It is over once they are answered again. */
export function reportUnreadJobs({ alerts }: Context, install: string, unreadLinks: readonly UnreadLink[]): void {
  const refusals = new Map(unreadLinks.map(({ jobId, refusal }) => [jobId, refusal]));
  for (const [job, { message }] of refusals) {
    alerts.raise('job_unread', { install, job, reason: maskText(message) });
  }
  alerts.observe(
    'job_unread',
    { install },
    [...refusals.keys()].map((job) => ({ job })),
  );
}
