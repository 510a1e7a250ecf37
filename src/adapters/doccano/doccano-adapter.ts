import { AppError } from '../../domain/errors.ts';
import type { Adapter, Added, Capabilities, Finding, Person, UsageNote, UsageObservation } from '../adapter.ts';
import { remedyFrom, type ToolClient, unless, withRemedy, withSignal } from '../tool-request.ts';
import { isNumericId } from '../values.ts';
import {
  addRow,
  createAccount,
  createDoccanoClient,
  findAccount,
  findRole,
  findRow,
  listRows,
  projectPath,
  readMe,
  readProject,
  recogniseAccount,
  removeRow,
  toMember,
} from './doccano-api.ts';
import { Distribution, type DoccanoSettings, MemberProgress, ProjectPage, Users } from './doccano-schema.ts';

const capabilities: Capabilities = {
  removal: {
    effect: 'membership_only',
    reason:
      'their login stays, because doccano cannot end logins: they no longer see the project, but they still see all usernames, and any example by its id while they are in another project',
  },
  readding: 'yes',
  exclusive: 'membership',
  invitation: 'password',
  // Confirmed examples are counted for ever, labels only for current members.
  usage: { counts: ['tasks', 'labels'], outlivesRemoval: false },
  guidelines: 'markdown',
};

/**
 * doccano: a group is a project, a member an account in it. A person is identified by the username, which is their
 * address in lower case, because doccano's API shows no addresses.
 */
export function createDoccanoAdapter(settings: DoccanoSettings): Adapter {
  const client = createDoccanoClient(settings);
  const apiFor = (signal: AbortSignal) => withSignal(client, signal);

  return {
    capabilities,
    check: (signal) => checkDoccano(settings, apiFor(signal)),
    groupFor: ({ externalProjectId }) => externalProjectId,
    canonicalGroup: (externalProjectId) => (isNumericId(externalProjectId) ? externalProjectId : null),

    async findMember(groupId, { memberId, email }, signal) {
      const api = apiFor(signal);
      const known = memberId === null ? null : await findRow(api, groupId, memberId);
      if (known !== null) return toMember(known);
      const user = await findAccount(api, email);
      if (user === null || String(user.id) === memberId) return null;
      const row = await findRow(api, groupId, String(user.id));
      return row && toMember(row);
    },

    async findAccount({ email }, signal) {
      const user = await findAccount(apiFor(signal), email);
      return user && { id: String(user.id), email: user.username };
    },

    addMember: (groupId, person, signal) => addMember(settings, apiFor(signal), groupId, person),

    async removeMember(groupId, { id }, signal) {
      const row = await findRow(apiFor(signal), groupId, id);
      if (row !== null) await removeRow(apiFor(signal), groupId, row);
    },

    async *listMembers(groupId, signal) {
      yield* (await listRows(apiFor(signal), groupId)).map(toMember);
    },

    usageScopeFor: ({ externalProjectId }) => externalProjectId,
    readUsage: (scope, _request, signal) => readDoccanoUsage(apiFor(signal), scope),

    readGuidelines: async (project, signal) => (await readProject(apiFor(signal), project)).guideline ?? '',

    async writeGuidelines(project, guideline, signal) {
      const path = projectPath(project);
      await apiFor(signal).call({ method: 'PATCH', path, body: { guideline }, purpose: 'write the guideline' });
    },
  };
}

async function addMember(
  { url, role: roleName }: DoccanoSettings,
  api: ToolClient,
  groupId: string,
  person: Person,
): Promise<Added> {
  const role = await findRole(api, roleName);
  const found = await findAccount(api, person.email);
  // Logins cannot be deleted, so none is created for a missing project.
  if (found === null) await readProject(api, groupId);
  const { user, isNew } = await (found === null ? createAccount(api, person) : recogniseAccount(api, person, found));
  await addRow(api, groupId, { user, role });
  const { id, username } = user;
  return {
    id: String(id),
    email: username,
    ...(isNew && { invitation: { kind: 'password', url: `${url}/auth`, username } }),
  };
}

const mostProjects = 10;

/** Does not ask `/v1/health/`, which answers 500 if no task worker runs. */
async function checkDoccano({ role }: DoccanoSettings, api: ToolClient): Promise<Finding[]> {
  const me = await withRemedy(readMe(api), remedyOf);
  if (!me.is_staff) {
    const remedy = 'tick "Staff status" for it in /admin, or use another account';
    throw new AppError('forbidden', `The account may not create logins: ${remedy}`);
  }
  await findRole(api, role);
  const findings = [nothingAssigned];
  if (!me.is_superuser && !(await isAdminSomewhere(api))) findings.push(noProjects);
  return findings;
}

/** Assumed if there are more projects than are checked. */
async function isAdminSomewhere(api: ToolClient): Promise<boolean> {
  const request = { path: `/projects?limit=${mostProjects}`, purpose: 'list the projects' };
  const { count, results } = await api.call({ ...request, answer: ProjectPage });
  for (const { id } of results) {
    // An account that may list the members may also add and remove them, whatever its role.
    if ((await unless([403], listRows(api, String(id)))) !== null) return true;
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

/** The kinds of labels by type of project. In projects of other types, doccano counts no labels. */
const labelKinds = new Map([
  ['DocumentClassification', ['category']],
  ['ImageClassification', ['category']],
  ['SequenceLabeling', ['span', 'relation']],
  ['IntentDetectionAndSlotFilling', ['category', 'span']],
]);

/** The totals of everyone who has confirmed an example or is a member. doccano stores no times. */
async function* readDoccanoUsage(api: ToolClient, groupId: string): AsyncGenerator<UsageObservation | UsageNote> {
  const { project_type: type } = await readProject(api, groupId);
  const metrics = `${projectPath(groupId)}/metrics`;
  const request = { path: `${metrics}/member-progress`, purpose: 'read the progress' };
  const { progress } = await api.call({ ...request, answer: MemberProgress });
  const labels = await readLabels(api, metrics, labelKinds.get(type) ?? []);
  if (labels === null) yield { of: 'gap', says: noLabels };
  // Read last, so that new accounts are in it. All accounts, because some people have left the project.
  const users = await api.call({ path: '/users', purpose: 'list the accounts', answer: Users });
  const ids = new Map(users.map(({ id, username }) => [username, String(id)]));
  for (const { user, done } of progress) {
    const memberId = ids.get(user);
    if (memberId === undefined) {
      throw new AppError('unavailable', 'An account was renamed or deleted while the work was read');
    }
    const count = labels?.get(user);
    yield { memberId, email: user, of: 'total', tasks: done, ...(count !== undefined && { labels: count }) };
  }
}

/** The number of labels by current member; null if doccano cannot count them. */
async function readLabels(
  api: ToolClient,
  metrics: string,
  kinds: readonly string[],
): Promise<Map<string, number> | null> {
  const totals = new Map<string, number>();
  for (const kind of kinds) {
    const call = { path: `${metrics}/${kind}-distribution`, purpose: 'count the labels', answer: Distribution };
    // doccano answers 500 for good if the project has labels of a former member. The rest of the work still counts.
    const distribution = await unless([500], api.call(call));
    if (distribution === null) return null;
    for (const [user, count] of distribution) totals.set(user, (totals.get(user) ?? 0) + count);
  }
  return totals;
}

const noLabels =
  'doccano counts no labels in a project that has labels of a former member: add the member again, or delete those labels';
