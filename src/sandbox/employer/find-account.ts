import { AppError } from '../../domain/errors.ts';
import type { SandboxContract, SandboxState } from '../sandbox-state.ts';
import type { SandboxAccount } from './account.ts';

/** @throws AppError `not_found` */
export function findAccount(state: SandboxState, accountId: string): SandboxAccount {
  const account = state.accounts.get(accountId);
  if (account === undefined) throw new AppError('not_found', `No account ${accountId}`);
  return account;
}

/** The account of the employer who offers the job of a contract, where they have one. */
export function accountOf(state: SandboxState, { job }: SandboxContract): SandboxAccount | undefined {
  return state.accounts.get(job.organizationId);
}
