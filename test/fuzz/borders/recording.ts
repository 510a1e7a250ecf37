import assert from 'node:assert/strict';
import type { Asked } from '../fetched.ts';

/** What a server answered, by the method and the path of the request. */
export type Recording = ReadonlyMap<string, Recorded>;

export interface Recorded {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** Those that say how a body was sent, which is not how it is given back. */
const ofTransport = new Set([
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'date',
]);

/** The last good answer to each request that is made meanwhile; where there is none, the last one. */
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

/** The answer to this request, or to one that is nearly the same. */
export function bodyOf(recording: Recording, request: Pick<Asked, 'method' | 'path'>): Recorded {
  const found = keysOf(request).map((key) => recording.get(key));
  const [first = { status: 404, headers: {}, text: '{"detail":"Not found."}' }] = found.filter(
    (one) => one !== undefined,
  );
  return first;
}

/** From the whole to the kind: ids differ. */
function keysOf({ method, path }: Pick<Asked, 'method' | 'path'>): string[] {
  const [pathname = ''] = path.split('?');
  return [path, pathname, pathname.replaceAll(/\d+/g, 'n')].map((form) => `${method} ${form}`);
}
