/** Replaces the network: the host of a URL decides which function answers the request. */
export interface FakeNetwork {
  /** @returns the host to use in URLs */
  serve(answer: Serve): string;
  forget(host: string): void;
  close(): void;
}

export interface SentRequest {
  method: string;
  /** Including the query. */
  path: string;
  body: string;
}

export type Serve = (request: SentRequest) => Response;

export function openFakeNetwork(): FakeNetwork {
  const real = globalThis.fetch;
  const served = new Map<string, Serve>();
  let count = 0;
  globalThis.fetch = async (input, init = {}) => {
    const url = new URL(String(input));
    const serve = served.get(url.hostname);
    if (serve === undefined) return await real(input, init);
    init.signal?.throwIfAborted();
    const { method = 'GET', body } = init;
    return serve({ method, path: `${url.pathname}${url.search}`, body: String(body ?? '') });
  };
  return {
    serve(answer) {
      count += 1;
      const host = `fuzz-${count}.test`;
      served.set(host, answer);
      return host;
    },
    forget: (host) => void served.delete(host),
    close() {
      globalThis.fetch = real;
    },
  };
}
