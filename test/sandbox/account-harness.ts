import { expect, onTestFinished } from 'vitest';
import { fieldsOfPath, methodOf, type Operation, pathOf } from '../../src/marketplace/contract/operation.ts';
import { toJsonSchema } from '../../src/sandbox/openapi.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { type Answer, type Call, request } from './sandbox-harness.ts';
import { toStrictSchema } from './strict-schema.ts';

export const hourMs = 3_600_000;

export interface AccountWorld {
  sandbox: Sandbox;
  url: string;
  accountId: string;
  token: string;
  jobId: string;
  /** Calls the API for employers with the token of the account, or with the given one. */
  api(method: string, path: string, call?: Call): Promise<Answer>;
  /** Calls an operation, and refuses an answer that the contract does not describe exactly. */
  ask(operation: Operation, input?: object, call?: Call): Promise<Answer>;
  /** Lets time pass, on the clock of instants. */
  wait(ms: number): void;
  /** The events of the feed, each by type and data. */
  listEvents(): Promise<[type: string, data: object][]>;
}

/** A started sandbox with one employer's account and one job. Its timeline moves only by `advance`. */
export async function openAccount(
  wanted: Parameters<Sandbox['createAccount']>[0] = {},
  options: SandboxOptions = {},
): Promise<AccountWorld> {
  let passedMs = 0;
  const clock = { now: () => new Date(Date.now() + passedMs) };
  const sandbox = createSandbox({ timeScale: 0, seed: 'test', clock, ...options });
  const { url, employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount(wanted);
  const { id: jobId } = sandbox.createJob({ accountId });
  const api: AccountWorld['api'] = (method, path, call = {}) =>
    request(method, `${employerBaseUrl}${path}`, { token, ...call });
  return {
    sandbox,
    url,
    accountId,
    token,
    jobId,
    api,
    async ask(operation, input = {}, call = {}) {
      const { method, path, body } = toRequest(operation, input);
      const base = operation.api === 'auth' ? `${url}/api/agent` : employerBaseUrl;
      const answer = await request(method, `${base}${path}`, { token, ...(body && { body }), ...call });
      if (answer.status < 300) expect(() => parseStrictly(operation, answer.body)).not.toThrow();
      return answer;
    },
    wait: (ms) => {
      passedMs += ms;
    },
    async listEvents() {
      const { body } = await api('GET', '/updates?limit=200');
      return body.events.map(({ type, data }: { type: string; data: object }) => [type, data]);
    },
  };
}

function toRequest(operation: Operation, input: object) {
  const inPath = fieldsOfPath(operation);
  const fields: Record<string, unknown> = { ...input };
  const path = pathOf(operation).replaceAll(/\{(\w+)\}/g, (_, field) => encodeURIComponent(String(fields[field])));
  const rest = Object.entries(fields).filter(([field]) => !inPath.includes(field));
  const method = methodOf(operation);
  if (method !== 'GET' && method !== 'DELETE') return { method, path, body: Object.fromEntries(rest) };
  const query = new URLSearchParams(rest.map(([field, value]): [string, string] => [field, String(value)]));
  return { method, path: `${path}?${query}` };
}

function parseStrictly({ out }: Operation, body: unknown): unknown {
  return toStrictSchema(toJsonSchema(out)).parse(body);
}

/** What a refusal says. */
export function refusalIn({ status, body }: Answer): unknown[] {
  return [status, body.details?.reason ?? body.error];
}
