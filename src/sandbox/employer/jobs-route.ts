import { JobsQuery } from './employer-request-schema.ts';
import { type Answered, type EmployerCall, type EmployerRoute, parseFields } from './employer-route.ts';

/** The employer's own jobs, newest first. Their shape is assumed: the specification does not show it. */
export const jobsRoute: EmployerRoute = {
  method: 'get',
  path: '/jobs/mine',
  scopes: ['jobs:read'],
  answer: listJobs,
};

function listJobs({ marketplace: { state }, account, query }: EmployerCall): Answered {
  const { cursor: first, limit } = parseFields(JobsQuery, query);
  const jobs = [...state.jobs.values()].filter(({ organizationId }) => organizationId === account.id).reverse();
  const next = first + limit;
  const page = jobs
    .slice(first, next)
    .map(({ id, title, paymentType }) => ({ id, title, paymentType, status: 'OPEN' }));
  return { body: { jobs: page, nextCursor: next < jobs.length ? String(next) : null } };
}
