/** What stays on this machine may go unencrypted. */

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** Whether a credential sent to this URL could be read on its way. */
export function isPlainBeyondLoopback(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
