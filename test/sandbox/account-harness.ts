import { onTestFinished } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { type Answer, type Call, request } from './sandbox-harness.ts';

export interface AccountWorld {
  sandbox: Sandbox;
  url: string;
  accountId: string;
  token: string;
  jobId: string;
  /** Calls the API for employers with the token of the account, or with the given one. */
  api(method: string, path: string, call?: Call): Promise<Answer>;
}

/** A started sandbox with one employer's account and one job. Its timeline moves only by `advance`. */
export async function openAccount(
  wanted: Parameters<Sandbox['createAccount']>[0] = {},
  options: SandboxOptions = {},
): Promise<AccountWorld> {
  const sandbox = createSandbox({ timeScale: 0, seed: 'test', ...options });
  const { url, employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount(wanted);
  const { id: jobId } = sandbox.createJob({ accountId });
  const api: AccountWorld['api'] = (method, path, call = {}) =>
    request(method, `${employerBaseUrl}${path}`, { token, ...call });
  return { sandbox, url, accountId, token, jobId, api };
}
