import { AppError } from '../domain/errors.ts';

/**
 * A value as exactly one segment of a URL's path, percent-encoded. Strangers choose ids, and some ids would lead to another
 * path.
 *
 * @throws AppError `invalid` for an empty value, `.`, `..`, and for text that is not valid Unicode
 */
export function pathSegment(value: string): string {
  if (!isPathSegment(value)) {
    throw new AppError('invalid', 'An id is empty, "." or "..", or not valid text: it cannot be in a path');
  }
  return encodeURIComponent(value);
}

export function isPathSegment(value: string): boolean {
  return !/^\.{0,2}$/.test(value) && value.isWellFormed();
}

/** Whether the host is this machine, where traffic need not be encrypted. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** Whether a credential sent to this URL could be read on the network. */
export function isPlainBeyondLoopback(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
