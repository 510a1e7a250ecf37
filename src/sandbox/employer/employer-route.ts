import { AppError } from '../../domain/errors.ts';
import { Refusal } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import type { RequestSchema } from '../platform-request-schema.ts';
import type { PlatformRoute } from '../platform-route.ts';
import type { SandboxContract } from '../sandbox-state.ts';
import type { EmployerScope, PersonalToken, SandboxAccount } from './account.ts';
import { accountOf } from './find-account.ts';

/** A call whose token and scope are valid. */
export interface EmployerCall {
  marketplace: Marketplace;
  account: SandboxAccount;
  token: PersonalToken;
  /** The `{id}` of the path; empty if it has none. */
  id: string;
  /** The `{number}` of the path; empty if it has none. */
  number: string;
  query: unknown;
  body: unknown;
}

/** One operation of the employers' API. */
export interface EmployerRoute extends Pick<PlatformRoute, 'method' | 'path'> {
  /** One of these is needed; any valid token is enough without. */
  scopes?: readonly EmployerScope[];
  /** What must be on for the account. */
  feature?: string;
  /** Whether a person must have claimed the account. */
  needsClaim?: true;
  /** @throws AppError @returns the answer, which is sent with 200 unless it says otherwise */
  answer: (call: EmployerCall) => Answered;
}

export interface Answered {
  status?: number;
  body: object;
}

/** `write` includes `read` of the same family. */
export function isGranted({ scopes }: Pick<PersonalToken, 'scopes'>, scope: EmployerScope): boolean {
  return scopes.some((held) => held === scope || held.replace(/:write$/, ':read') === scope);
}

export function findContract({ marketplace: { state }, account }: EmployerCall, contractId: string): SandboxContract {
  const contract = state.contracts.get(contractId);
  if (contract !== undefined && accountOf(state, contract) === account) return contract;
  throw new Refusal('not_found', 'There is no such contract', { resource: 'contracts', contractId });
}

/** @throws Refusal `invalid` that names the field, with what this field may be if `supported` says it */
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
