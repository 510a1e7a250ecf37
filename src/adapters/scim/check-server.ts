import type { AppError } from '../../domain/errors.ts';
import type { Finding } from '../adapter.ts';
import { unless, withRemedy } from '../tool-request.ts';
import { isObject } from '../values.ts';
import { findGroup } from './groups.ts';
import { type Dialect, refreshDialect, type Scim, scimGet } from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import { probe } from './search.ts';

const soonMs = 14 * 86_400_000;

/** Checks whether Gangway can work with the server, and what is unusual about it. Only reads. */
export async function checkServer(scim: Scim, signal: AbortSignal): Promise<Finding[]> {
  return await withRemedy(findOut(scim, signal), remedyOf);
}

async function findOut(scim: Scim, signal: AbortSignal): Promise<Finding[]> {
  const { settings } = scim;
  const dialect = await refreshDialect(scim, signal);
  await probe(scim, 'Users', { purpose: 'list the accounts', signal });
  if (settings.group !== null) await probe(scim, 'Groups', { purpose: 'list the groups', signal });
  const findings = [
    tokenFinding(settings),
    patchFinding(settings, dialect),
    await filterFinding(scim, dialect, signal),
    await groupFinding(scim, signal),
  ];
  return findings.filter((finding) => finding !== null);
}

function tokenFinding({ token }: ScimSettings): Finding | null {
  const expiry = tokenExpiry(token);
  if (expiry === null || expiry.getTime() - Date.now() > soonMs) return null;
  return {
    says: `The token ends at ${expiry.toISOString()}`,
    action: 'Make a new one before then, and put it into "token"',
    isFailure: false,
  };
}

/**
 * When a token expires that is a JWT, as in some tools. Pure; it verifies nothing.
 *
 * @returns null for a token without that, or of another kind
 */
export function tokenExpiry(token: string): Date | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp?: unknown };
    return Number.isSafeInteger(claims.exp) ? new Date(Number(claims.exp) * 1000) : null;
  } catch {
    return null;
  }
}

function patchFinding({ group, ifMatch }: ScimSettings, { hasPatch }: Dialect): Finding | null {
  if (hasPatch || ifMatch || group === null) return null;
  return {
    says: 'The server has no PATCH: a group is written whole, which undoes what another hand changes in it at the same moment',
    action: 'Let no other program change these groups, or set "ifMatch" if the server has ETags',
    isFailure: false,
  };
}

/** No account has this address, so if one is returned, the server did not filter. */
async function filterFinding(scim: Scim, { hasFilter }: Dialect, signal: AbortSignal): Promise<Finding | null> {
  const query = { filter: 'userName eq "nobody@gangway.invalid"', startIndex: 1, count: 1 };
  const request = scimGet(scim, '/Users', query, { purpose: 'try a filter', signal });
  const answer = await unless([400, 404, 501], request);
  const isFiltered = !isObject(answer) || Number(answer['totalResults'] ?? 0) === 0;
  if (hasFilter && isFiltered) return null;
  return {
    says: 'The server does not filter: to find one account, all are read, 100 at a time',
    action: 'Ask its vendor for filters on userName, if calls are limited or accounts are many',
    isFailure: false,
  };
}

/** A single group can be searched for; the groups of projects are only known with their projects. */
async function groupFinding(scim: Scim, signal: AbortSignal): Promise<Finding | null> {
  const { group, createGroups } = scim.settings;
  if (group === null || createGroups || group.includes('{externalProjectId}')) return null;
  if ((await findGroup(scim, group, signal)) !== null) return null;
  return {
    says: `The tool has no group ${JSON.stringify(group)}`,
    action: 'Create it there, or set "createGroups": true',
    isFailure: true,
  };
}

const unreachable = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH']);

/** What an operator can do about an error that the check met. Pure. */
export function remedyOf(error: AppError): string | undefined {
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
