import { AppError } from '../../domain/errors.ts';
import type { Adapter, Capabilities, Finding, Member, Person } from '../adapter.ts';
import { findingsOfExpiry, remedyFrom, unless, withRemedy } from '../tool-request.ts';
import { claimsOf, isObject } from '../values.ts';
import { addGroupMember, entriesOf, findGroup, memberIds, removeGroupMember } from './groups.ts';
import {
  createScim,
  type Dialect,
  groupsOf,
  hasAddress,
  isActive,
  type Resource,
  refreshDialect,
  type Scim,
  scimGet,
  toMember,
} from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import { deactivateUser, findByAddress, findUser, listAll, probe, provideUser, readUser } from './users.ts';

/**
 * Any tool with SCIM 2.0 (RFC 7643 and 7644). Servers understand different requests, so each change is tried in several
 * ways until the server shows it. Accounts are never deleted.
 */
export function createScimAdapter(settings: ScimSettings): Adapter {
  const scimFor = createScim(settings);
  const { group, offboarding } = settings;

  return {
    capabilities: toCapabilities(settings),
    check: (signal) => checkServer(scimFor(signal)),

    groupFor: ({ externalProjectId }) => group?.replaceAll('{externalProjectId}', () => externalProjectId) ?? 'users',

    findMember: (groupId, person, signal) => findMember(scimFor(signal), groupId, person),

    async addMember(groupId, person, signal) {
      const scim = scimFor(signal);
      const { user, account } = await provideUser(scim, person);
      const added = { id: user.id, othersAdded: person.othersAdded };
      if (group !== null) await addGroupMember(scim, groupId, added);
      return { ...toMember(user), account };
    },

    async findAccount(person, signal) {
      const user = await findUser(scimFor(signal), person);
      return user && toMember(user);
    },

    removeMember: (groupId, { id }, signal) => takeMembership(scimFor(signal), groupId, id),

    async findAccountById(id, signal) {
      const user = await readUser(scimFor(signal), id);
      return user !== null && isActive(user) ? toMember(user) : null;
    },

    ...(offboarding === 'deactivate' && {
      async removeAccount(groupId: string, { id }: Member, signal: AbortSignal) {
        // First, to lock them out even if the next step fails.
        await deactivateUser(scimFor(signal), id);
        if (group !== null) await removeGroupMember(scimFor(signal), groupId, id);
      },
    }),

    listMembers: (groupId, signal) => listMembers(scimFor(signal), groupId),
  };
}

async function findMember(scim: Scim, groupId: string, { memberId, email }: Person): Promise<Member | null> {
  const known = memberId === null ? null : await readUser(scim, memberId);
  if (known !== null && (await isMember(scim, groupId, known))) return toMember(known);
  if (known !== null && hasAddress(known, email)) return null;
  const found = await findByAddress(scim, email);
  const isIn = found !== null && (await isMember(scim, groupId, found));
  return isIn ? toMember(found) : null;
}

function toCapabilities({ group, offboarding }: ScimSettings): Capabilities {
  const reason = 'their account stays active; only their membership of the group ends';
  return {
    removal: offboarding === 'deactivate' ? { effect: 'locks_out' } : { effect: 'membership_only', reason },
    readding: 'yes',
    // Not every server shows the members of a group.
    ...(group !== null && { removesUnseen: true }),
    ...(offboarding === 'deactivate' && {
      keepingAccount: { removal: { effect: 'membership_only', reason }, readding: 'yes' },
    }),
    // Two calls that write the whole group at the same time would undo each other.
    exclusive: group === null ? 'membership' : 'group',
    invitation: 'none',
  };
}

/** Without groups, an active account is the membership. */
async function isMember(scim: Scim, groupId: string, user: Resource): Promise<boolean> {
  if (!isActive(user)) return false;
  if (scim.settings.group === null) return true;
  const group = await findGroup(scim, groupId);
  if (group === null) return false;
  // An empty list may be hidden. Then the account may show its groups.
  return memberIds(group).has(user.id) || (entriesOf(group).length === 0 && groupsOf(user).includes(group.id));
}

/** @returns `unproven` if nothing in the tool shows who is in the group */
async function takeMembership(scim: Scim, groupId: string, userId: string): Promise<'unproven' | undefined> {
  const hasGroups = scim.settings.group !== null;
  if (hasGroups && (await removeGroupMember(scim, groupId, userId)) === undefined) return undefined;
  const user = await readUser(scim, userId);
  if (user === null || !isActive(user)) return undefined;
  // If the account names its groups, the next look sees whether it is still in this one.
  if (hasGroups) return groupsOf(user).length > 0 ? undefined : 'unproven';
  throw new AppError(
    'conflict',
    'Without groups, only the account itself could be ended, and Gangway may not end it: it did not create it, or customers share the tool',
  );
}

/** Each once. */
async function* listMembers(scim: Scim, groupId: string): AsyncGenerator<Member> {
  const seen = new Set<string>();
  const users = scim.settings.group === null ? listUsers(scim) : listGroup(scim, groupId);
  for await (const user of users) {
    if (seen.has(user.id) || !isActive(user)) continue;
    seen.add(user.id);
    yield toMember(user);
  }
}

/** From the list of all accounts, which needs fewer calls. Members that it lacks, because it changed, are read one by one. */
async function* listGroup(scim: Scim, groupId: string): AsyncGenerator<Resource> {
  const group = await findGroup(scim, groupId);
  const ids = group === null ? new Set<string>() : memberIds(group);
  if (ids.size === 0) return;
  for await (const user of listUsers(scim)) if (ids.delete(user.id)) yield user;
  for (const id of ids) {
    const user = await readUser(scim, id);
    if (user !== null) yield user;
  }
}

function listUsers(scim: Scim): AsyncGenerator<Resource> {
  return listAll(scim, 'Users', { purpose: 'list the accounts' });
}

const remedyOf = remedyFrom({
  url: '"url" must be the root of SCIM, such as https://host/scim/v2',
  token: 'the token is wrong or has expired, or is for another API than SCIM: make a new one and put it into "token"',
  rights: 'the token needs the right to read and change users and groups',
});

async function checkServer(scim: Scim): Promise<Finding[]> {
  const { settings } = scim;
  const dialect = await withRemedy(tryToRead(scim), remedyOf);
  const findings = [patchFinding(settings, dialect), await filterFinding(scim, dialect), await groupFinding(scim)];
  // Some tools use a JSON Web Token, which says when it expires.
  const { exp } = claimsOf(settings.token) ?? {};
  const expiry = typeof exp === 'number' ? exp * 1000 : Number.NaN;
  return [...findingsOfExpiry(expiry), ...findings.filter((finding) => finding !== null)];
}

async function tryToRead(scim: Scim): Promise<Dialect> {
  const dialect = await refreshDialect(scim);
  await probe(scim, 'Users', { purpose: 'list the accounts' });
  if (scim.settings.group !== null) await probe(scim, 'Groups', { purpose: 'list the groups' });
  return dialect;
}

function patchFinding({ group, ifMatch }: ScimSettings, { hasPatch }: Dialect): Finding | null {
  if (hasPatch || ifMatch || group === null) return null;
  return {
    says: 'The server has no PATCH: Gangway writes whole groups, and may undo what another program changes at the same moment',
    action: 'Let no other program change these groups, or set "ifMatch" if the server has ETags',
    isFailure: false,
  };
}

/** No account has this address: if the server returns one, it does not filter. */
async function filterFinding(scim: Scim, { hasFilter }: Dialect): Promise<Finding | null> {
  const query = { filter: 'userName eq "nobody@gangway.invalid"', startIndex: 1, count: 1 };
  const request = scimGet(scim, '/Users', query, { purpose: 'try a filter' });
  const answer = await unless([400, 404, 501], request);
  const isFiltered = !isObject(answer) || Number(answer['totalResults'] ?? 0) === 0;
  if (hasFilter && isFiltered) return null;
  return {
    says: 'The server does not filter: to find one account, Gangway reads all of them, 100 at a time',
    action: 'Ask its vendor for filters on userName, if calls are limited or there are many accounts',
    isFailure: false,
  };
}

/** Only a fixed group can be looked for: the groups of projects are unknown until their projects are linked. */
async function groupFinding(scim: Scim): Promise<Finding | null> {
  const { group, createGroups } = scim.settings;
  if (group === null || createGroups || group.includes('{externalProjectId}')) return null;
  if ((await findGroup(scim, group)) !== null) return null;
  return {
    says: `The tool has no group ${JSON.stringify(group)}`,
    action: 'Create it there, or set "createGroups": true',
    isFailure: true,
  };
}
