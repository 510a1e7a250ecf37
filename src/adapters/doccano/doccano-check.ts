import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import type { Finding } from '../adapter.ts';
import { unless, withRemedy } from '../tool-request.ts';
import { projectPath } from './doccano-api.ts';
import { findRole } from './doccano-members.ts';
import { type DoccanoSettings, Me, MemberRows, ProjectPage } from './doccano-schema.ts';

const mostProjects = 10;

/** Checks whether Gangway can work with doccano, and what an operator should know. */
export async function checkDoccano(
  { role }: DoccanoSettings,
  api: RestClient,
  signal: AbortSignal,
): Promise<Finding[]> {
  const me = await readMe(api, signal);
  if (!me.is_staff) throw noStaff();
  await findRole(api, role, signal);
  const findings = [nothingAssigned];
  if (!me.is_superuser && !(await isAdminSomewhere(api, signal))) findings.push(noProjects);
  return findings;
}

async function readMe(api: RestClient, signal: AbortSignal): Promise<Me> {
  try {
    return await api.call({ path: '/me', purpose: 'read the own account', answer: Me, signal });
  } catch (error) {
    throw withRemedy(error, remedyOf);
  }
}

/** If there are more projects than are checked, it counts as one. */
async function isAdminSomewhere(api: RestClient, signal: AbortSignal): Promise<boolean> {
  const path = `/projects?limit=${mostProjects}`;
  const request = { path, purpose: 'list the projects' };
  const { count, results } = await api.call({ ...request, answer: ProjectPage, signal });
  for (const { id } of results) if (await mayListMembers(api, id, signal)) return true;
  return count > results.length;
}

/** An account that may do that may also add and remove members, whatever its role. */
async function mayListMembers(api: RestClient, project: number, signal: AbortSignal): Promise<boolean> {
  const path = `${projectPath(String(project))}/members`;
  return (await unless([403], api.call({ path, purpose: 'list the members', answer: MemberRows, signal }))) !== null;
}

const isItThere = 'does it run, and is "url" right?';
const mendUrl = 'is "url" the root of doccano, without "/v1", and with https where it asks for it?';
const mendCredentials = 'is the token (or the username and password) one of this doccano, and "url" its root?';

function remedyOf({ code, status }: AppError): string | undefined {
  const remedies: Partial<Record<AppError['code'], string>> = {
    invalid: mendUrl,
    not_found: mendUrl,
    unauthenticated: mendCredentials,
    forbidden: mendCredentials,
  };
  // No server answered at all. A server that did may only be busy.
  const isSilent = code === 'unavailable' && status === undefined;
  return isSilent ? isItThere : remedies[code];
}

function noStaff(): AppError {
  return new AppError(
    'forbidden',
    'The account may not create logins: tick "Staff status" for it in /admin, or use another',
  );
}

const nothingAssigned: Finding = {
  says: 'from doccano 1.8.5 on, a new member sees no example before it is assigned to them',
  action: 'assign examples to new members in doccano: Dataset, Action, Assign to member',
  isFailure: false,
};

const noProjects: Finding = {
  says: 'the account is no superuser, and project_admin in no project: it cannot add or remove members',
  action: 'add it to each project as project_admin, or make it a superuser',
  isFailure: true,
};
