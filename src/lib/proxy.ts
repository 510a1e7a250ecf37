import http from 'node:http';

let isUsed = false;

/**
 * Sends requests through the proxy that the environment names: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, also in lower case. No
 * request to this machine goes there.
 */
export function useProxyOf(env: NodeJS.ProcessEnv): void {
  if (!['HTTPS_PROXY', 'HTTP_PROXY'].some((name) => env[name.toLowerCase()] || env[name])) return;
  // Node.js has it since 24.14.
  if (!('setGlobalProxyFromEnv' in http)) {
    process.emitWarning(`HTTPS_PROXY has no effect in Node.js ${process.version}: it needs 24.14 or newer`);
    return;
  }
  const direct = [env['no_proxy'] || env['NO_PROXY'], 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join();
  http.setGlobalProxyFromEnv({ ...env, NO_PROXY: direct, no_proxy: direct });
  isUsed = true;
}

/** What to add to the error for a request without an answer. */
export function sayProxy(): string {
  return isUsed ? ' (HTTPS_PROXY or HTTP_PROXY names a proxy)' : '';
}
