import { operations } from '../../src/http/api/openapi-document.ts';
import { consoleTokens } from './visitor.ts';

/** A program with the token of a person of `consoleTokens`. */
export interface ApiClient {
  /** An operation by its id. @throws where the answer is no success, with the problem */
  ask(id: string, given?: AskGiven): Promise<Record<string, unknown>>;
  /** The same, with the whole answer. */
  send(id: string, given?: AskGiven): Promise<ApiAnswer>;
}

export interface AskGiven {
  params?: Record<string, string | number>;
  query?: Record<string, string | number>;
  body?: object;
  key?: string;
}

export interface ApiAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export function createApiClient(consoleUrl: string, name: keyof typeof consoleTokens = 'otto'): ApiClient {
  const { token } = consoleTokens[name];
  const send: ApiClient['send'] = async (id, given = {}) => {
    const { method, url } = addressOf(id, given);
    const { body, key } = given;
    const answer = await fetch(`${consoleUrl}${url}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as ApiAnswer['body'] };
  };
  return {
    send,
    async ask(id, given) {
      const { status, body } = await send(id, given);
      if (status !== 200) throw new Error(`${id} was answered with ${status}: ${JSON.stringify(body)}`);
      return body;
    },
  };
}

function operationOf(id: string) {
  const operation = operations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`There is no operation ${id}`);
  return operation;
}

/** @param given missing parts of a path are filled with well-formed values */
export function addressOf(id: string, { params = {}, query = {} }: AskGiven = {}): { method: string; url: string } {
  const { method, path } = operationOf(id);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? usual[name] ?? 1),
  );
  const asked = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return { method: method.toUpperCase(), url: `/api/v1${filled}${asked.size > 0 ? `?${asked}` : ''}` };
}

const usual: Record<string, string> = {
  install: 'unknown',
  contract: 'cm0',
  work: '0123456789ab',
  day: `gw-${'0'.repeat(32)}`,
  tool: 'none',
  link: 'cm1',
};
