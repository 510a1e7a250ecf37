import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import type { Finding } from '../adapter.ts';
import { remedyFrom } from '../check-tool.ts';
import { unless, withRemedy } from '../tool-request.ts';
import { findRole, listRows, readMe } from './doccano-members.ts';
import { type DoccanoSettings, ProjectPage } from './doccano-schema.ts';

const mostProjects = 10;

/**
 * Checks whether Gangway can work with doccano, and what an operator should know. It does not ask `/v1/health/`, which
 * answers 500 wherever no task worker runs.
 */
export async function checkDoccano(
  { role }: DoccanoSettings,
  api: RestClient,
  signal: AbortSignal,
): Promise<Finding[]> {
  const me = await withRemedy(readMe(api, signal), remedyOf);
  if (!me.is_staff) {
    const remedy = 'tick "Staff status" for it in /admin, or use another';
    throw new AppError('forbidden', `The account may not create logins: ${remedy}`);
  }
  await findRole(api, role, signal);
  const findings = [nothingAssigned];
  if (!me.is_superuser && !(await isAdminSomewhere(api, signal))) findings.push(noProjects);
  return findings;
}

/** If there are more projects than are checked, it counts as one. */
async function isAdminSomewhere(api: RestClient, signal: AbortSignal): Promise<boolean> {
  const request = { path: `/projects?limit=${mostProjects}`, purpose: 'list the projects' };
  const { count, results } = await api.call({ ...request, answer: ProjectPage, signal });
  for (const { id } of results) {
    // An account that may list members may also add and remove them, whatever its role.
    if ((await unless([403], listRows(api, String(id), signal))) !== null) return true;
  }
  return count > results.length;
}

const credentials = 'is the token (or the username and password) one of this doccano, and "url" its root?';
const remedyOf = remedyFrom({
  url: 'is "url" the root of doccano, without "/v1"?',
  token: credentials,
  rights: credentials,
});

const nothingAssigned: Finding = {
  says: 'From doccano 1.8.5 on, a new member sees no examples until they are assigned',
  action: 'Assign examples to new members in doccano: Dataset, Action, Assign to member',
  isFailure: false,
};

const noProjects: Finding = {
  says: 'The account is neither a superuser nor project_admin of a project, so it cannot add or remove members',
  action: 'Add the account to each project as project_admin, or make it a superuser',
  isFailure: true,
};
