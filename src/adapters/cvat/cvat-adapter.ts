import { AppError } from '../../domain/errors.ts';
import { mapAtOnce } from '../../lib/lists.ts';
import type { Adapter, Capabilities, Finding, Member } from '../adapter.ts';
import { findingsOfExpiry, remedyFrom, unless, withRemedy } from '../tool-request.ts';
import { isNumericId } from '../values.ts';
import { type Cvat, createCvat, isExactly, isSet, type ListCall, listAll, withQuery } from './cvat-api.ts';
import {
  findById,
  findCvatMember,
  inviteMember,
  isNewcomer,
  listCvatMembers,
  removeMember,
  renewInvitation,
  secretsOf,
  toMember,
} from './cvat-members.ts';
import {
  About,
  AccessToken,
  type Assigned,
  AssignedPage,
  type CvatSettings,
  Guide,
  GuidedPage,
  Memberships,
  Organizations,
  toOrganization,
  toProjectId,
} from './cvat-schema.ts';
import { hasAnalytics, readEventUsage, readJobUsage } from './cvat-usage.ts';

/** CVAT, self-hosted. The group is an organization, because projects have no members. Work is counted by project. */
export function createCvatAdapter(settings: CvatSettings): Adapter {
  const cvat = createCvat(settings);
  const positions = new Map<string, Position>();

  return {
    capabilities: toCapabilities(settings),
    check: (signal) => checkCvat(cvat(signal)),
    identify: (signal) => identifyCvat(cvat(signal)),
    groupFor: () => settings.organization,

    async findMember(groupId, person, signal) {
      const found = await findCvatMember(cvat(signal), groupId, person);
      return found && toMember(found);
    },

    addMember: (groupId, person, signal) => inviteMember(cvat(signal), groupId, person),
    renewInvitation: (groupId, member, signal) => renewInvitation(cvat(signal), groupId, member),
    removeMember: (groupId, member, signal) => removeMember(cvat(signal), groupId, member),
    endAssignments: (groupId, member, project, signal) =>
      endAssignments(cvat(signal), positions, { groupId, member, project }),

    async *listMembers(groupId, signal) {
      for await (const member of listCvatMembers(cvat(signal), groupId)) yield toMember(member);
    },

    async *listNewcomers(groupId, since, signal) {
      for await (const member of listCvatMembers(cvat(signal), groupId)) {
        if (isNewcomer(member, since)) yield toMember(member);
      }
    },

    usageScopeFor: (link) => link.externalProjectId,

    readUsage: (project, request, signal) =>
      settings.analytics ? readEventUsage(cvat(signal), project, request) : readJobUsage(cvat(signal), project),

    readGuidelines: (project, signal) => readGuide(cvat(signal), project),
    writeGuidelines: (project, text, signal) => writeGuide(cvat(signal), project, text),
  };
}

function toCapabilities({ analytics }: CvatSettings): Capabilities {
  return {
    removal: { effect: 'locks_out' },
    readding: 'yes',
    exclusive: 'membership',
    invitation: 'own',
    // A removal ends the assignments of the member. The events keep their id.
    usage: analytics
      ? { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true }
      : { counts: ['tasks'], outlivesRemoval: false },
    guidelines: 'markdown',
  };
}

/** Every job of a project shows its guide. */
async function readGuide(cvat: Cvat, project: string): Promise<string> {
  const purpose = 'read the guide';
  const id = await findGuide(cvat, project, purpose);
  if (id === null) return '';
  return (await cvat.api.call({ path: `/api/guides/${id}`, purpose, answer: Guide })).markdown;
}

async function writeGuide(cvat: Cvat, project: string, text: string): Promise<void> {
  const purpose = 'write the guide';
  const id = await findGuide(cvat, project, purpose);
  // CVAT takes such a link for an image of the guide, and answers 500 if the guide has no such image.
  const markdown = text.replaceAll('(/api/assets/', '(\\/api/assets/');
  if (id !== null) {
    await cvat.api.call({ method: 'PATCH', path: `/api/guides/${id}`, body: { markdown }, purpose });
  } else if (markdown !== '') {
    // A project has one guide. If two calls create it, CVAT answers one with 500, and the retry changes the guide.
    const path = withQuery('/api/guides', { org: cvat.settings.organization });
    await cvat.api.call({ method: 'POST', path, body: { project_id: Number(project), markdown }, purpose });
  }
}

/**
 * Looks only in the configured organization, because CVAT also answers about projects of other organizations that the
 * token may change.
 *
 * @returns null for a project without a guide
 * @throws AppError `invalid` for an id that is not a number
 */
async function findGuide(cvat: Cvat, project: string, purpose: string): Promise<number | null> {
  const filters = [isExactly('id', Number(toProjectId(project)))];
  const call = { path: '/api/projects', query: { org: cvat.settings.organization }, filters, purpose };
  for await (const { guide_id: guideId } of listAll(cvat, GuidedPage, call)) return guideId ?? null;
  throw new AppError('not_found', `Could not ${purpose}: the organization has no such project`);
}

/** The oldest version that the adapter was tried with, and the newest whose API was checked. */
const oldest = [2, 54] as const;
const newest = [2, 73] as const;

const remedyOf = remedyFrom({
  url: '"url" must be where CVAT is opened in a browser',
  token:
    'the token is wrong, expired, revoked, or was not used for half a year: make a new one in CVAT (Profile, Security), not read-only',
});

async function checkCvat(cvat: Cvat): Promise<Finding[]> {
  const { api, settings } = cvat;
  const about = { path: '/api/server/about', purpose: 'ask for the version of CVAT', answer: About };
  const { version } = await withRemedy(api.call(about), remedyOf);
  const findings = findingsOfVersion(version);
  const self = { path: '/api/auth/access_tokens/self', purpose: 'check the token', answer: AccessToken };
  const token = await withRemedy(api.call(self), remedyOf);
  if (token.read_only) {
    throw new AppError(
      'forbidden',
      'The token is read-only, as CVAT makes them by default: make another one without "Read only" (Profile, Security)',
    );
  }
  await withRemedy(checkRole(cvat, token.owner.username), (error) => remedyOfRole(settings, error));
  const isCounted = !settings.analytics || (await hasAnalytics(cvat));
  return [...findings, ...(isCounted ? [] : [noAnalytics]), ...findingsOfExpiry(Date.parse(token.expiry_date ?? ''))];
}

const noAnalytics: Finding = {
  says: 'This CVAT runs without analytics: it records no events, so Gangway cannot read any work from it.',
  action: 'Set "analytics": false to count completed jobs, or start CVAT with analytics.',
  isFailure: false,
};

async function checkRole({ api, settings }: Cvat, username: string): Promise<void> {
  const { organization, role } = settings;
  const path = withQuery('/api/memberships', { org: organization, user: username });
  const { results } = await api.call({ path, purpose: 'check the organization', answer: Memberships });
  const own = results.find(({ user, is_active }) => user?.username === username && is_active);
  if (own?.role === 'owner' || (own?.role === 'maintainer' && role !== 'maintainer')) return;
  const least = role === 'maintainer' ? 'its owner' : 'its owner or a maintainer';
  const is = own === undefined ? 'not a member' : `a ${own.role}`;
  throw new AppError(
    'forbidden',
    `The account of the token is ${is} of the organization "${organization}"; it must be ${least}`,
  );
}

function remedyOfRole({ organization }: CvatSettings, { status }: AppError): string | undefined {
  if (status === 404) {
    return `there is no organization "${organization}": find its short name in CVAT's list of organizations`;
  }
  return status === 403 ? `the account of the token must be owner or maintainer of "${organization}"` : undefined;
}

function findingsOfVersion(version: string): Finding[] {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  const known = [Number(major), Number(minor)] as const;
  const shown = version.slice(0, 40);
  if (major === undefined || known[0] !== oldest[0] || known[1] < oldest[1]) {
    throw new AppError('invalid', `This is CVAT ${shown}: ${oldest.join('.')} or a later 2.x is needed`);
  }
  if (known[1] <= newest[1]) return [];
  const says = `CVAT ${shown} is newer than the latest version that Gangway knows (${newest.join('.')}).`;
  return [{ says, action: 'Run "gangway adapter test" against it once.', isFailure: false }];
}

/** Two servers may have an organization of the same name, but not created at the same moment. */
async function identifyCvat({ api, settings }: Cvat): Promise<string | null> {
  const path = withQuery('/api/organizations', { slug: settings.organization });
  const { results } = await api.call({ path, purpose: 'read the organization', answer: Organizations });
  const own = results.find(({ slug }) => slug === settings.organization);
  return own?.created_date ? `organization ${own.id} of ${own.created_date.slice(0, 40)}` : null;
}

/** What can be assigned, the change that ends an assignment, and the field of the project. */
const kinds = [
  { path: '/api/jobs', change: { assignee: null }, project: 'project_id' },
  { path: '/api/tasks', change: { assignee_id: null }, project: 'project_id' },
  { path: '/api/projects', change: { assignee_id: null }, project: 'id' },
] as const;

/** Limits of one call, so that it ends within its time-out. */
const maxChanges = 20;
const maxLookedThrough = 2000;
const changesAtOnce = 5;

/** Where the next call goes on: the kind, and the last id of that kind that was read. */
interface Position {
  kind: number;
  afterId: number;
}

interface Assignee {
  id: string;
  /** Null for a former member, because only the list of members has the name. */
  name: string | null;
  organization: string;
  /** Null for all projects. */
  project: string | null;
  secrets: string[];
}

/**
 * Ends the assignments of a member, which a removal leaves. They are found by the member's name; without it, everything
 * that is assigned is read, which takes longer.
 *
 * @param positions where calls that answered `more` go on; after a restart they begin again
 */
async function endAssignments(
  cvat: Cvat,
  positions: Map<string, Position>,
  { groupId, member, project }: { groupId: string; member: Member; project: string | null },
): Promise<'done' | 'more'> {
  const organization = toOrganization(groupId);
  if (project !== null && !isNumericId(project)) return 'done';
  const key = JSON.stringify([groupId, member.id, project]);
  const name = member.name ?? (await findById(cvat, groupId, member))?.user.username ?? null;
  const secrets = [...secretsOf(name), ...secretsOf(member.email)];
  const assignee = { id: member.id, name, organization, project, secrets };
  for (let at = positions.get(key) ?? { kind: 0, afterId: 0 }; at.kind < kinds.length; ) {
    const next = await endSome(cvat, assignee, at);
    if (next !== null) {
      positions.set(key, next);
      return 'more';
    }
    at = { kind: at.kind + 1, afterId: 0 };
  }
  positions.delete(key);
  return 'done';
}

/** Null if nothing of this kind is left. */
async function endSome(cvat: Cvat, assignee: Assignee, { kind, afterId }: Position): Promise<Position | null> {
  const assignable = kinds[kind];
  if (assignable === undefined) return null;
  const { path, change, project: field } = assignable;
  const theirs: Assigned[] = [];
  let [lookedThrough, lastId] = [0, afterId];
  const isEnough = () => theirs.length >= maxChanges || lookedThrough >= maxLookedThrough;
  const call = { path, ...toQuery(assignee, field), secrets: assignee.secrets, afterId };
  for await (const one of listAll(cvat, AssignedPage, { ...call, purpose: 'list what is assigned to the member' })) {
    lookedThrough += 1;
    lastId = one.id;
    if (isToEnd(cvat, one, assignee, field)) theirs.push(one);
    if (isEnough()) break;
  }
  const ending = { method: 'PATCH', body: change, purpose: "end the member's assignments" } as const;
  await mapAtOnce(theirs, changesAtOnce, ({ id }) =>
    unless([404], cvat.api.call({ ...ending, path: `${path}/${id}`, secrets: assignee.secrets })),
  );
  return isEnough() ? { kind, afterId: lastId } : null;
}

type ProjectField = (typeof kinds)[number]['project'];

function toQuery(
  { organization: org, name, project }: Assignee,
  field: ProjectField,
): Pick<ListCall, 'query' | 'filters'> {
  return {
    query: { org, ...(name !== null && { assignee: name }) },
    filters: [
      ...(name === null ? [isSet('assignee')] : []),
      ...(project === null ? [] : [isExactly(field, Number(project))]),
    ],
  };
}

function isToEnd({ settings }: Cvat, one: Assigned, { id, project }: Assignee, field: ProjectField): boolean {
  if (String(one.assignee?.id) !== id) return false;
  if (project === null) return true;
  // Without events, a member's completed jobs are the count of their work, so they stay assigned.
  return String(one[field]) === project && (settings.analytics || one.state !== 'completed');
}
