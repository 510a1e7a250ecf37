import { AppError } from '../../domain/errors.ts';
import { reworded } from '../tool-request.ts';

/** What an operator can do about an error that a check has met. Pure. */
export function withRemedy(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const remedy = remedyOf(error);
  return remedy === undefined ? error : reworded(error, `${error.message}; ${remedy}`);
}

const unreachable = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH']);

function remedyOf(error: AppError): string | undefined {
  const { code, status = 0 } = error;
  if (code === 'unauthenticated') {
    return 'the token is wrong or has expired, or is for another API than SCIM: make a new one and put it into "token"';
  }
  if (code === 'forbidden') return 'the token needs the right to read and change users and groups';
  if (code === 'not_found') {
    return 'there is no SCIM at this address: "url" is its root, such as https://host/scim/v2';
  }
  if (status >= 300 && status < 400) return '"url" must be the address that it leads to';
  if (code === 'invalid' && status === 0) {
    return 'what answers there is a web page or another API: "url" is the root of SCIM, such as https://host/scim/v2';
  }
  return code === 'unavailable' && status === 0 ? remedyOfConnection(codeOf(error)) : undefined;
}

function remedyOfConnection(code: string): string | undefined {
  if (unreachable.has(code)) return 'nothing answers there: see that "url" names the right host';
  if (/^ERR_SSL|^EPROTO/.test(code)) {
    return 'what answers there does not speak TLS: see that "url" has the right port';
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return 'its certificate is not trusted: renew it, or name the authority that signed it in NODE_EXTRA_CA_CERTS';
  }
  return undefined;
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
