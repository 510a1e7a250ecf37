import { AppError } from '../../domain/errors.ts';
import type { Finding } from '../adapter.ts';
import { type DoccanoApi, projectPath } from './doccano-api.ts';
import { findRole } from './doccano-role.ts';
import { type DoccanoSettings, Me, MemberRows, ProjectPage } from './doccano-schema.ts';

const mostProjects = 10;

/** Checks whether Gangway can work with doccano, and what an operator should know. */
export async function checkDoccano(
  { role }: DoccanoSettings,
  api: DoccanoApi,
  signal: AbortSignal,
): Promise<Finding[]> {
  const me = await readMe(api, signal);
  if (!me.is_staff) throw noStaff();
  await findRole(api, role, signal);
  const findings = [nothingAssigned];
  if (!me.is_superuser && !(await isAdminSomewhere(api, signal))) findings.push(noProjects);
  return findings;
}

async function readMe(api: DoccanoApi, signal: AbortSignal): Promise<Me> {
  try {
    return await api.send({ path: '/me', purpose: 'read the own account' }, Me, signal);
  } catch (error) {
    throw error instanceof AppError ? withRemedy(error) : error;
  }
}

/** If there are more projects than are checked, it counts as one. */
async function isAdminSomewhere(api: DoccanoApi, signal: AbortSignal): Promise<boolean> {
  const path = `/projects?limit=${mostProjects}`;
  const request = { path, purpose: 'list the projects' };
  const { count, results } = await api.send(request, ProjectPage, signal);
  for (const { id } of results) if (await mayListMembers(api, id, signal)) return true;
  return count > results.length;
}

/** An account that may do that may also add and remove members, whatever its role. */
async function mayListMembers(api: DoccanoApi, project: number, signal: AbortSignal): Promise<boolean> {
  const path = `${projectPath(String(project))}/members`;
  try {
    await api.send({ path, purpose: 'list the members' }, MemberRows, signal);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status === 403) return false;
    throw error;
  }
}

const isItThere = 'does it run, and is "url" right?';
const mendUrl = 'is "url" the root of doccano, without "/v1", and with https where it asks for it?';
const mendCredentials = 'is the token (or the username and password) one of this doccano, and "url" its root?';

function withRemedy(error: AppError): AppError {
  const { code, message, status, retryAfterMs } = error;
  const remedies: Partial<Record<AppError['code'], string>> = {
    invalid: mendUrl,
    not_found: mendUrl,
    unauthenticated: mendCredentials,
    forbidden: mendCredentials,
  };
  // No server answered at all. A server that did may only be busy.
  const isSilent = code === 'unavailable' && status === undefined;
  const remedy = isSilent ? isItThere : remedies[code];
  if (remedy === undefined) return error;
  return new AppError(code, `${message}; ${remedy}`, {
    cause: error,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function noStaff(): AppError {
  return new AppError(
    'forbidden',
    'The account may not create logins: tick "Staff status" for it in /admin, or use another',
  );
}

const nothingAssigned: Finding = {
  says: 'from doccano 1.8.5 on, whoever is added sees no example before it is assigned to them',
  action: 'assign examples to new members in doccano: Dataset, Action, Assign to member',
  isFailure: false,
};

const noProjects: Finding = {
  says: 'the account is no superuser, and project_admin in no project: it can add and remove nobody',
  action: 'add it to each project as project_admin, or make it a superuser',
  isFailure: true,
};
