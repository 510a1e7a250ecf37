import { AppError } from '../../domain/errors.ts';
import { type RestClient, statusOf } from '../../lib/rest-client.ts';
import type { Member } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { isNumericId } from '../values.ts';
import { projectPath } from './doccano-api.ts';
import { Me, MemberRow, MemberRows, Project, Roles, type User } from './doccano-schema.ts';

/** The members of projects. The id of a member is the id of their account, the same in every project. */

/** doccano's name of the role that may add and remove members. */
const adminRole = 'project_admin';

/** The row of an account in a project; null if there is none. */
export async function findRow(
  api: RestClient,
  groupId: string,
  memberId: string,
  signal: AbortSignal,
): Promise<MemberRow | null> {
  const path = `${projectPath(groupId)}/members?user=${memberId}`;
  if (!isNumericId(memberId)) return null;
  // For an account that does not exist any more, doccano answers 400.
  const rows = await unless([400], api.call({ path, purpose: 'find the member', answer: MemberRows, signal }));
  return rows?.find(({ user }) => String(user) === memberId) ?? null;
}

export async function listRows(api: RestClient, groupId: string, signal: AbortSignal): Promise<MemberRow[]> {
  const path = `${projectPath(groupId)}/members`;
  return await api.call({ path, purpose: 'list the members', answer: MemberRows, signal });
}

/** @throws AppError `not_found` if there is no such project */
export async function readProject(api: RestClient, groupId: string, signal: AbortSignal) {
  return await api.call({ path: projectPath(groupId), purpose: 'read the project', answer: Project, signal });
}

/** An account that is a member already stays as it is. */
export async function addRow(
  api: RestClient,
  groupId: string,
  { user, role }: { user: User; role: number },
  signal: AbortSignal,
): Promise<void> {
  const path = `${projectPath(groupId)}/members`;
  const request = { method: 'POST', path, body: { user: user.id, role }, purpose: 'add the member' } as const;
  try {
    await api.call({ ...request, answer: MemberRow, signal });
  } catch (error) {
    // It answers the same for an account that is a member already and for a missing project.
    if (statusOf(error) !== 400) throw error;
    if ((await findRow(api, groupId, String(user.id), signal)) === null) throw error;
  }
}

/** @throws AppError `invalid` for Gangway's own account and for the only administrator */
export async function removeRow(api: RestClient, groupId: string, row: MemberRow, signal: AbortSignal): Promise<void> {
  if (row.rolename === adminRole) await refuseAdmin(api, groupId, row, signal);
  const path = `${projectPath(groupId)}/members`;
  await api.call({ method: 'DELETE', path, body: { ids: [row.id] }, purpose: 'remove the member', signal });
}

/** doccano silently keeps the caller's own account, and removes the last administrator. */
async function refuseAdmin(api: RestClient, groupId: string, row: MemberRow, signal: AbortSignal): Promise<void> {
  if ((await readMe(api, signal)).id === row.user) throw keeps('it is the account that Gangway uses');
  const admins = (await listRows(api, groupId, signal)).filter(({ rolename }) => rolename === adminRole);
  if (admins.length <= 1) throw keeps('the project has no other administrator');
}

export async function readMe(api: RestClient, signal: AbortSignal): Promise<Me> {
  return await api.call({ path: '/me', purpose: 'read the own account', answer: Me, signal });
}

/**
 * The id of a role, which differs between installations.
 *
 * @throws AppError `invalid` if there is no role with this name
 */
export async function findRole(api: RestClient, name: string, signal: AbortSignal): Promise<number> {
  const roles = await api.call({ path: '/roles', purpose: 'read the roles', answer: Roles, signal });
  const role = roles.find((one) => one.name === name);
  if (role !== undefined) return role.id;
  const known = roles.map((one) => one.name).join(', ');
  throw new AppError('invalid', `doccano has no role "${name}", but ${known}: see "role"`);
}

/** doccano shows only the username. For accounts that Gangway made it is the address. */
export function toMember({ user, username }: MemberRow): Member {
  return { id: String(user), email: username };
}

function keeps(why: string): AppError {
  return new AppError('invalid', `Could not remove the member: ${why}`);
}
