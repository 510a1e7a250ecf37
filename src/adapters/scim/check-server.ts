import type { Finding } from '../adapter.ts';
import { findingsOfExpiry, remedyFrom } from '../check-tool.ts';
import { unless, withRemedy } from '../tool-request.ts';
import { claimsOf, isObject } from '../values.ts';
import { findGroup } from './groups.ts';
import { type Dialect, refreshDialect, type Scim, scimGet } from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import { probe } from './search.ts';

const remedyOf = remedyFrom({
  url: '"url" must be the root of SCIM, such as https://host/scim/v2',
  token: 'the token is wrong or has expired, or is for another API than SCIM: make a new one and put it into "token"',
  rights: 'the token needs the right to read and change users and groups',
});

/** Checks whether Gangway can work with the server, and what is unusual about it. Only reads. */
export async function checkServer(scim: Scim, signal: AbortSignal): Promise<Finding[]> {
  const { settings } = scim;
  const dialect = await withRemedy(tryToRead(scim, signal), remedyOf);
  const findings = [
    patchFinding(settings, dialect),
    await filterFinding(scim, dialect, signal),
    await groupFinding(scim, signal),
  ];
  // Some tools give a token that says when it ends.
  const { exp } = claimsOf(settings.token) ?? {};
  const expiry = typeof exp === 'number' ? exp * 1000 : Number.NaN;
  return [...findingsOfExpiry(expiry), ...findings.filter((finding) => finding !== null)];
}

async function tryToRead(scim: Scim, signal: AbortSignal): Promise<Dialect> {
  const dialect = await refreshDialect(scim, signal);
  await probe(scim, 'Users', { purpose: 'list the accounts', signal });
  if (scim.settings.group !== null) await probe(scim, 'Groups', { purpose: 'list the groups', signal });
  return dialect;
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
