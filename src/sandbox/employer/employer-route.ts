import { AppError } from '../../domain/errors.ts';
import type { ApiCall, ApiCaller, ApiRoute } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import type { RequestSchema } from '../platform-request-schema.ts';
import { accountOf, type SandboxContract } from '../sandbox-state.ts';
import type { PersonalToken, SandboxAccount } from './account.ts';
import { PageQuery } from './employer-request-schema.ts';

export interface EmployerCaller extends ApiCaller {
  account: SandboxAccount;
  token: PersonalToken;
}
export type EmployerCall = ApiCall & EmployerCaller;

export interface EmployerRoute extends ApiRoute<EmployerCaller> {
  /** The feature that the account needs. */
  feature?: string;
  /** Whether a person must have claimed the account. */
  needsClaim?: true;
}

export function findContract({ marketplace: { state }, account }: EmployerCall, contractId: string): SandboxContract {
  const contract = state.contracts.get(contractId);
  if (contract !== undefined && accountOf(state, contract) === account) return contract;
  throw new Refusal('not_found', 'There is no such contract', { resource: 'contracts', contractId });
}

/** @throws Refusal `invalid` that names the field, and its allowed values if they are in `supported` */
export function parseFields<T>(schema: RequestSchema<T>, input: unknown, supported: Record<string, object> = {}): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: '' }] = result.error.issues;
  const field = String(path[0] ?? 'body');
  throw new Refusal('invalid', `${field}: ${message}`, { field, ...supported[field] });
}

/** @throws AppError `forbidden` for a job of another account, `not_found` */
export function requireJob({ marketplace: { state }, account }: EmployerCall, jobId: string): void {
  const job = state.jobs.get(jobId);
  if (job === undefined) throw new Refusal('not_found', 'There is no such job', { resource: 'jobs', jobId });
  if (job.organizationId !== account.id) throw new AppError('forbidden', "The job is another account's");
}

export function toPage<T>({ query }: EmployerCall, all: readonly T[]): { items: T[]; nextCursor: string | null } {
  const { cursor: first, limit } = parseFields(PageQuery, query);
  const next = first + limit;
  return { items: all.slice(first, next), nextCursor: next < all.length ? String(next) : null };
}
