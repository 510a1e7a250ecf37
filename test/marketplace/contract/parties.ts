import { onTestFinished } from 'vitest';
import { createClient } from '../../../src/marketplace/client.ts';
import { operations } from '../../../src/marketplace/contract/contract.ts';
import type { Operation } from '../../../src/marketplace/contract/operation.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';

export const { signal } = new AbortController();

export type Fields = Record<string, unknown>;

// The schemas of an operation say what it answers.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Answered = any;

/** An employer with an account and an install, who calls operations through the client. */
export interface Party {
  sandbox: Sandbox;
  clock: FakeClock;
  url: string;
  accountId: string;
  userId: string;
  token: string;
  platformToken: string;
  ask(id: string, input?: Fields, extras?: { idempotencyKey?: string }): Promise<Answered>;
}

type Account = Parameters<Sandbox['createAccount']>[0];

/** A sandbox with one employer, and a way to let others come. */
export async function openParties(wanted: Account = {}) {
  const clock = createFakeClock('2026-03-15T12:00:00.000Z');
  const sandbox = createSandbox({ timeScale: 0, seed: 'test', clock });
  const { url } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const join = (wish: Account = {}): Party => {
    const { accountId, ownerUserId: userId, token } = sandbox.createAccount(wish);
    const { token: platformToken } = sandbox.createInstall({ organizationId: accountId });
    const party = { sandbox, clock, url, accountId, userId, token, platformToken };
    return { ...party, ask: (id, input, extras) => ask(party, id, input, extras) };
  };
  return { ...join(wanted), join };
}

function operationOf(id: string): Operation {
  const found = operations.find((one) => one.id === id);
  if (found === undefined) throw new Error(`There is no operation ${id}`);
  return found;
}

type Tokens = Pick<Party, 'url' | 'token' | 'platformToken'>;

/** The answer as it came. */
export async function ask(tokens: Tokens, id: string, input: Fields = {}, extras = {}): Promise<Answered> {
  const operation = operationOf(id);
  const client = clientOf(tokens, operation);
  if (!operation.isFile) return Object(await client.callRaw(operation, input, signal, extras));
  return { bytes: await Array.fromAsync(client.download(operation, input, signal)) };
}

export function clientOf({ url, token, platformToken }: Tokens, { api }: Operation) {
  const [base, own] = api === 'platform' ? ['/api/partner/v1', platformToken] : ['/api/public/v1', token];
  return createClient({ baseUrl: `${url}${base}`, token: own, pacing: { requestsPerSecond: 10_000, burst: 1000 } });
}
