import { AppError } from '../../domain/errors.ts';
import { createRestClient, type RestClient, statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Member, Person } from '../adapter.ts';
import { createLogin, type ToolClient, unless, withSignal } from '../tool-request.ts';
import { isNumericId } from '../values.ts';
import {
  type DoccanoSettings,
  Login,
  Me,
  MemberRow,
  MemberRows,
  Project,
  Roles,
  User,
  Users,
} from './doccano-schema.ts';

/** The paths are those after `/v1`. No cookie is kept, because with a session doccano asks for a CSRF token. */
export function createDoccanoClient({ url, credentials }: DoccanoSettings): RestClient {
  const baseUrl = `${url}/v1`;
  if ('token' in credentials) {
    return createRestClient({ baseUrl, authorization: { scheme: 'Token', token: credentials.token, refusals: [] } });
  }
  const token = createLogin(async (signal) => {
    const key = await logIn(withSignal(client, signal), credentials);
    if (key !== null) return { token: key };
    const why = 'doccano refuses the username or the password (400)';
    throw new AppError('unauthenticated', `Could not log in: ${why}`, { status: 400 });
  });
  const client: RestClient = createRestClient({
    baseUrl,
    // An expired token is refused with 403, like an account without the right.
    authorization: { scheme: 'Token', token, refusals: [401, 403] },
    secrets: [credentials.password],
  });
  return client;
}

interface LoginName {
  username: string;
  password: string;
}

/**
 * The token of an account.
 *
 * @returns null if doccano refuses the username or the password
 */
async function logIn(api: ToolClient, { username, password }: LoginName): Promise<string | null> {
  const request = { method: 'POST', path: '/auth/login/', purpose: 'log in', isAnonymous: true } as const;
  const [body, secrets] = [{ username, password }, [username, password]];
  const login = await unless([400], api.call({ ...request, body, secrets, answer: Login }));
  return login === null ? null : login.key;
}

/** @throws AppError `invalid` for a text that is not the id of a project */
export function projectPath(groupId: string): string {
  if (isNumericId(groupId)) return `/projects/${groupId}`;
  throw new AppError('invalid', 'The id of a doccano project is a whole number, as in its URL');
}

/** The role that may add and remove members. */
const adminRole = 'project_admin';

/**
 * The row of an account in a project; null if it is no member. The id of a member is the id of their account, the same
 * in every project.
 */
export async function findRow(api: ToolClient, groupId: string, memberId: string): Promise<MemberRow | null> {
  const path = `${projectPath(groupId)}/members?user=${memberId}`;
  if (!isNumericId(memberId)) return null;
  // For an account that no longer exists, doccano answers 400.
  const rows = await unless([400], api.call({ path, purpose: 'find the member', answer: MemberRows }));
  return rows?.find(({ user }) => String(user) === memberId) ?? null;
}

/** A superuser gets an empty list for a project that does not exist. */
export async function listRows(api: ToolClient, groupId: string): Promise<MemberRow[]> {
  const path = `${projectPath(groupId)}/members`;
  return await api.call({ path, purpose: 'list the members', answer: MemberRows });
}

/** @throws AppError `not_found` if there is no such project */
export async function readProject(api: ToolClient, groupId: string) {
  return await api.call({ path: projectPath(groupId), purpose: 'read the project', answer: Project });
}

/** An account that is a member already stays as it is. */
export async function addRow(
  api: ToolClient,
  groupId: string,
  { user, role }: { user: User; role: number },
): Promise<void> {
  const path = `${projectPath(groupId)}/members`;
  const request = { method: 'POST', path, body: { user: user.id, role }, purpose: 'add the member' } as const;
  try {
    await api.call({ ...request, answer: MemberRow });
  } catch (error) {
    // doccano answers 400 for a member as well as for a missing project.
    if (statusOf(error) !== 400) throw error;
    if ((await findRow(api, groupId, String(user.id))) === null) throw error;
  }
}

/** @throws AppError `invalid` for Gangway's own account and for the only administrator */
export async function removeRow(api: ToolClient, groupId: string, row: MemberRow): Promise<void> {
  if (row.rolename === adminRole) await refuseAdmin(api, groupId, row);
  const path = `${projectPath(groupId)}/members`;
  await api.call({ method: 'DELETE', path, body: { ids: [row.id] }, purpose: 'remove the member' });
}

/** doccano would silently keep the caller's own account, and remove the last administrator. */
async function refuseAdmin(api: ToolClient, groupId: string, row: MemberRow): Promise<void> {
  if ((await readMe(api)).id === row.user) throw keeps('Gangway uses this account');
  const admins = (await listRows(api, groupId)).filter(({ rolename }) => rolename === adminRole);
  if (admins.length <= 1) throw keeps('the project has no other administrator');
}

export async function readMe(api: ToolClient): Promise<Me> {
  return await api.call({ path: '/me', purpose: 'read the own account', answer: Me });
}

/**
 * The id of a role, which differs between installations.
 *
 * @throws AppError `invalid` if there is no role with this name
 */
export async function findRole(api: ToolClient, name: string): Promise<number> {
  const roles = await api.call({ path: '/roles', purpose: 'read the roles', answer: Roles });
  const role = roles.find((one) => one.name === name);
  if (role !== undefined) return role.id;
  const known = roles.map((one) => one.name).join(', ');
  throw new AppError('invalid', `doccano has no role "${name}", only ${known}: see "role"`);
}

/** doccano shows only the username. For accounts that Gangway made it is the address. */
export function toMember({ user, username }: MemberRow): Member {
  return { id: String(user), email: username };
}

function keeps(why: string): AppError {
  return new AppError('invalid', `Could not remove the member: ${why}`);
}

interface DoccanoAccount {
  user: User;
  /** Whether it was created for this person, who does not know the password yet. */
  isNew: boolean;
}

export async function findAccount(api: ToolClient, email: string): Promise<User | null> {
  const username = toUsername(email);
  // doccano accepts no such username, so no account has it.
  if (username === null) return null;
  const path = `/users?${new URLSearchParams({ q: username })}`;
  const request = { path, purpose: 'find the account', secrets: [username] };
  const users = await api.call({ ...request, answer: Users });
  // doccano searches by any part of a name, and two accounts may differ only in case.
  const alike = users.filter((user) => isSameAddress(user.username, username));
  return alike.find((user) => user.username === username) ?? alike[0] ?? null;
}

/** @throws AppError `invalid` for an address or a password that doccano does not take */
export async function createAccount(api: ToolClient, person: Person): Promise<DoccanoAccount> {
  const { email, newPassword: password } = person;
  const username = toUsername(email);
  if (username === null) {
    const rule = 'at most 150 letters, digits and @ . + - _';
    throw new AppError('invalid', `The address cannot be a username in doccano: ${rule}`);
  }
  if (password === undefined) {
    throw new AppError('invalid', 'The person has no account yet, and no password was given for a new one');
  }
  const request = {
    ...({ method: 'POST', path: '/users/create', purpose: 'create the account' } as const),
    body: { username, password1: password, password2: password },
    secrets: [username, password],
  };
  try {
    return { user: await api.call({ ...request, answer: User }), isNew: true };
  } catch (error) {
    if (statusOf(error) !== 400) throw error;
    // Another call may have created it first.
    const user = await findAccount(api, username);
    if (user !== null) return await recogniseAccount(api, person, user);
    throw new AppError(
      'invalid',
      'doccano refuses the new account (400): the password is too short, too common or too like the username, or the server has rules of its own',
      { status: 400 },
    );
  }
}

/**
 * An existing account may be from an earlier attempt whose answer was lost. The password was generated for this person,
 * so an account that it opens was created with it.
 */
export async function recogniseAccount(
  api: ToolClient,
  { memberId, newPassword: password }: Person,
  user: User,
): Promise<DoccanoAccount> {
  if (memberId !== null || password === undefined) return { user, isNew: false };
  return { user, isNew: (await logIn(api, { username: user.username, password })) !== null };
}

function toUsername(email: string): string | null {
  const username = email.toLowerCase();
  return /^[\p{L}\p{N}_.@+-]{1,150}$/u.test(username) ? username : null;
}
