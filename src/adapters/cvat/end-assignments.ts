import { mapAtOnce } from '../../lib/lists.ts';
import type { Member } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { isNumericId } from '../values.ts';
import { type Cvat, isExactly, isSet, type ListCall, listAll } from './cvat-api.ts';
import { findById, secretsOf } from './cvat-members.ts';
import { type Assigned, AssignedPage, toOrganization } from './cvat-schema.ts';

/** What can be assigned, with the change that ends an assignment and the field of its project. */
const kinds = [
  { path: '/api/jobs', change: { assignee: null }, project: 'project_id' },
  { path: '/api/tasks', change: { assignee_id: null }, project: 'project_id' },
  { path: '/api/projects', change: { assignee_id: null }, project: 'id' },
] as const;

/** How much one call changes or reads at most, so that it ends within its time-out. */
const mostChanges = 20;
const mostLookedThrough = 2000;
/** How many changes are made at the same time. */
const atOnce = 5;

/** How far the work has come: the kind, and the last id of it that was read. */
export interface Position {
  kind: number;
  afterId: number;
}

interface Assignee {
  id: string;
  /** Null if they are no longer a member, because only the list of members has the name. */
  name: string | null;
  organization: string;
  /** Null for all projects. */
  project: string | null;
  secrets: string[];
}

/**
 * Ends the assignments of a member, because CVAT leaves them with a removed member. They are found by the
 * member's name. Without the name, everything that is assigned is read, which takes longer.
 *
 * @param positions where calls that answered `more` go on. After a restart they begin again.
 */
export async function endAssignments(
  cvat: Cvat,
  positions: Map<string, Position>,
  { groupId, member, project }: { groupId: string; member: Member; project: string | null },
  signal: AbortSignal,
): Promise<'done' | 'more'> {
  const organization = toOrganization(groupId);
  if (project !== null && !isNumericId(project)) return 'done';
  const key = JSON.stringify([groupId, member.id, project]);
  const name = member.name ?? (await findById(cvat, groupId, member, signal))?.user.username ?? null;
  const secrets = [...secretsOf(name), ...secretsOf(member.email)];
  const assignee = { id: member.id, name, organization, project, secrets };
  for (let at = positions.get(key) ?? { kind: 0, afterId: 0 }; at.kind < kinds.length; ) {
    const next = await endSome(cvat, assignee, at, signal);
    if (next !== null) {
      positions.set(key, next);
      return 'more';
    }
    at = { kind: at.kind + 1, afterId: 0 };
  }
  positions.delete(key);
  return 'done';
}

/** @returns where the next call goes on; null if nothing of this kind is left */
async function endSome(
  cvat: Cvat,
  assignee: Assignee,
  { kind, afterId }: Position,
  signal: AbortSignal,
): Promise<Position | null> {
  const assignable = kinds[kind];
  if (assignable === undefined) return null;
  const { path, change, project: field } = assignable;
  const theirs: Assigned[] = [];
  let [lookedThrough, lastId] = [0, afterId];
  const isEnough = () => theirs.length >= mostChanges || lookedThrough >= mostLookedThrough;
  const call = { path, ...toQuery(assignee, field), secrets: assignee.secrets, signal, afterId };
  for await (const one of listAll(cvat, AssignedPage, { ...call, purpose: 'list what is assigned to the member' })) {
    lookedThrough += 1;
    lastId = one.id;
    if (isToEnd(cvat, one, assignee, field)) theirs.push(one);
    if (isEnough()) break;
  }
  const ending = { method: 'PATCH', body: change, purpose: "end the member's assignments" } as const;
  await mapAtOnce(theirs, atOnce, ({ id }) =>
    unless([404], cvat.api.call({ ...ending, path: `${path}/${id}`, secrets: assignee.secrets, signal })),
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
  // Without events, the completed jobs that are assigned to a member are the count of their work.
  return String(one[field]) === project && (settings.analytics || one.state !== 'completed');
}
