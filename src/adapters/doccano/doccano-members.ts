import { AppError } from '../../domain/errors.ts';
import type { Member } from '../adapter.ts';
import { type DoccanoApi, isId, projectPath } from './doccano-api.ts';
import { Me, MemberRow, MemberRows, Project, type User } from './doccano-schema.ts';

/** The members of projects. A member's id is that of their account, the same in every project. */
export interface DoccanoMembers {
  /** The row of an account in a project; null where there is none. */
  find(groupId: string, memberId: string, signal: AbortSignal): Promise<MemberRow | null>;
  list(groupId: string, signal: AbortSignal): Promise<MemberRow[]>;
  /** @throws AppError `not_found` where there is no such project */
  checkProject(groupId: string, signal: AbortSignal): Promise<void>;
  /** Somebody who is in already is left as they are. */
  add(groupId: string, user: User, role: number, signal: AbortSignal): Promise<void>;
  /** @throws AppError `invalid` for the own account and for the only administrator */
  remove(groupId: string, row: MemberRow, signal: AbortSignal): Promise<void>;
}

/** doccano's own name for those who may add and remove members. */
const adminRole = 'project_admin';

export function createDoccanoMembers(api: DoccanoApi): DoccanoMembers {
  async function find(groupId: string, memberId: string, signal: AbortSignal): Promise<MemberRow | null> {
    const path = `${projectPath(groupId)}/members?user=${memberId}`;
    if (!isId(memberId)) return null;
    try {
      const rows = await api.send({ path, purpose: 'find the member' }, MemberRows, signal);
      return rows.find(({ user }) => String(user) === memberId) ?? null;
    } catch (error) {
      // So it answers for an account that is no more.
      if (isBadRequest(error)) return null;
      throw error;
    }
  }

  async function list(groupId: string, signal: AbortSignal): Promise<MemberRow[]> {
    const path = `${projectPath(groupId)}/members`;
    return await api.send({ path, purpose: 'list the members' }, MemberRows, signal);
  }

  /** doccano passes over the own account without a word, and lets the last administrator go. */
  async function refuseAdmin(groupId: string, row: MemberRow, signal: AbortSignal): Promise<void> {
    const me = await api.send({ path: '/me', purpose: 'read the own account' }, Me, signal);
    if (me.id === row.user) throw keeps('it is the account that Gangway uses');
    const admins = (await list(groupId, signal)).filter(({ rolename }) => rolename === adminRole);
    if (admins.length <= 1) throw keeps('the project has no other administrator');
  }

  return {
    find,
    list,

    async checkProject(groupId, signal) {
      await api.send({ path: projectPath(groupId), purpose: 'read the project' }, Project, signal);
    },

    async add(groupId, user, role, signal) {
      const path = `${projectPath(groupId)}/members`;
      const body = { user: user.id, role };
      const request = { method: 'POST', path, body, purpose: 'add the member' } as const;
      try {
        await api.send(request, MemberRow, signal);
      } catch (error) {
        // It says the same of somebody who is there already and of a project that is not.
        if (!isBadRequest(error)) throw error;
        if ((await find(groupId, String(user.id), signal)) === null) throw error;
      }
    },

    async remove(groupId, row, signal) {
      if (row.rolename === adminRole) await refuseAdmin(groupId, row, signal);
      const path = `${projectPath(groupId)}/members`;
      const body = { ids: [row.id] };
      await api.tell({ method: 'DELETE', path, body, purpose: 'remove the member' }, signal);
    },
  };
}

/** The name is all that doccano tells, and of accounts that Gangway made it is their address. */
export function toMember({ user, username }: MemberRow): Member {
  return { id: String(user), email: username };
}

function isBadRequest(error: unknown): boolean {
  return error instanceof AppError && error.status === 400;
}

function keeps(why: string): AppError {
  return new AppError('invalid', `Could not remove the member: ${why}`);
}
