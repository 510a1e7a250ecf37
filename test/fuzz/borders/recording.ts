import assert from 'node:assert/strict';
import type { SentRequest } from '../fetched.ts';

/** The answers of a server, by the method and path of the request. */
export type Recording = ReadonlyMap<string, Recorded>;

export interface Recorded {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** Headers about how a body was transferred, which do not apply when it is replayed. */
const ofTransport = new Set([
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'date',
]);

/** The last successful answer to each request, or else the last answer. */
export async function record(work: () => Promise<void>): Promise<Recording> {
  const recorded = new Map<string, Recorded>();
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init = {}) => {
    const response = await real(input, init);
    const { pathname, search } = new URL(String(input));
    const { method = 'GET' } = init;
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !ofTransport.has(name)));
    const answer = { status: response.status, headers, text: await response.clone().text() };
    for (const key of keysOf({ method, path: `${pathname}${search}` })) {
      if (response.ok || !recorded.has(key)) recorded.set(key, answer);
    }
    return response;
  };
  try {
    await work();
  } finally {
    globalThis.fetch = real;
  }
  assert.ok(recorded.size > 0, 'nothing was asked');
  return recorded;
}

/** The answer to this request or to a similar one. */
export function bodyOf(recording: Recording, request: Pick<SentRequest, 'method' | 'path'>): Recorded {
  const found = keysOf(request).map((key) => recording.get(key));
  const [first = { status: 404, headers: {}, text: '{"detail":"Not found."}' }] = found.filter(
    (one) => one !== undefined,
  );
  return first;
}

/** The request, and then with less and less detail, because ids differ. They have digits. */
function keysOf({ method, path }: Pick<SentRequest, 'method' | 'path'>): string[] {
  const [pathname = ''] = path.split('?');
  return [path, pathname, pathname.replaceAll(/[^/]*\d[^/]*/g, 'n')].map((form) => `${method} ${form}`);
}
