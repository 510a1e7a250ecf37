import type { Storage } from '../app/storage.ts';
import { inTransaction } from '../db/database.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { requestJson } from '../lib/http-client.ts';
import { createInstallStateStore } from '../reconcile/read/install-state-store.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { demoProject } from './try-customer.ts';

export interface TriedAccount {
  token: string;
  jobId: string;
  /** Asks the marketplace to end a contract of which money is funded. @returns the id of the approval */
  askForEnd(contractId: string): Promise<string>;
}

/** An employer's own account with a job. It has no webhook: nothing reaches this machine. */
export function prepareAccount(sandbox: Sandbox, employerBaseUrl: string): TriedAccount {
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId, title: 'Street sign annotation' });
  return {
    token,
    jobId,
    async askForEnd(contractId) {
      sandbox.fundMilestone(contractId);
      const { body } = await requestJson({
        method: 'POST',
        url: `${employerBaseUrl}/contracts/${contractId}/end`,
        headers: { authorization: `Bearer ${token}` },
        purpose: 'end the contract in the sandbox',
        timeoutMs: 5000,
        maxBytes: 65_536,
      });
      return (body as { approval: { id: string } }).approval.id;
    },
  };
}

/** What is configured for it. The feed is read each second, so that the tour is short. */
export function configureAccount({ token, jobId }: TriedAccount) {
  return {
    feed: { every: '1s' },
    installs: { demo: { source: 'employer', token, tool: 'roster', jobs: { [jobId]: demoProject } } },
  };
}

/** The schedule would do so within a minute. */
export async function wantFirstReading({ database }: Storage): Promise<void> {
  const now = toInstant(systemClock.now());
  await inTransaction(database, (tx) => createInstallStateStore(database).wantRead(tx, ['demo'], now));
}
