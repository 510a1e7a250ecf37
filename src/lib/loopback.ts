/** Traffic that stays on this machine may be unencrypted. */

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** Whether a credential sent to this URL could be read on the network. */
export function isPlainBeyondLoopback(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
