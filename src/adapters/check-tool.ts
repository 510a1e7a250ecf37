import type { AppError } from '../domain/errors.ts';
import type { Finding } from './adapter.ts';

/** What the checks of several tools have in common. Pure. */

export interface Remedies {
  /** If something other than the tool answers. */
  url: string;
  /** If the tool refuses the token. */
  token: string;
  /** If the token lacks a right. */
  rights?: string;
}

/** What an operator can do about an error that a check met; undefined if that is unknown. */
export function remedyFrom({ url, token, rights }: Remedies): (error: AppError) => string | undefined {
  return (error) => {
    const { code, status = 0 } = error;
    if (code === 'unauthenticated') return token;
    if (code === 'forbidden') return rights;
    if (Math.floor(status / 100) === 3) return '"url" must be the address that it redirects to';
    if (code === 'not_found' || code === 'invalid') return url;
    // A server that answered may only be busy.
    return code === 'unavailable' && status === 0 ? remedyOfConnection(codeOf(error)) : undefined;
  };
}

function remedyOfConnection(code: string): string {
  if (/^ERR_SSL|^EPROTO/.test(code)) {
    return 'the server there does not speak TLS: check the port in "url"';
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return 'its certificate is not trusted: renew it, or name the authority that signed it in NODE_EXTRA_CA_CERTS';
  }
  return 'does it run, and is "url" right?';
}

/** `fetch` hides why a connection failed in the cause of what it throws. */
function codeOf(error: Error): string {
  let cause: unknown = error.cause;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === 'string') return code;
    cause = cause.cause;
  }
  return '';
}

const soonMs = 14 * 86_400_000;

/** @param expiry in milliseconds; NaN if it is unknown, or never */
export function findingsOfExpiry(expiry: number): Finding[] {
  if (!(expiry - Date.now() <= soonMs)) return [];
  const says = `The token expires at ${new Date(expiry).toISOString()}`;
  return [{ says, action: 'Make a new one before then, and put it into "token"', isFailure: false }];
}
