import { mapAtOnce } from '../../lib/at-once.ts';
import type { Adapter, Member } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { type CvatApi, type CvatCall, isExactly, isSet } from './cvat-api.ts';
import { type Assigned, AssignedPage, type CvatSettings, toOrganization } from './cvat-schema.ts';
import type { CvatMembers } from './find-members.ts';

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
interface Position {
  kind: number;
  afterId: number;
}

const beginning: Position = { kind: 0, afterId: 0 };

interface Wish {
  organization: string;
  id: string;
  /** Null if they are no member any more, because only the list of members has the name. */
  name: string | null;
  project: string | null;
  secrets: string[];
  signal: AbortSignal;
}

/**
 * Ends the assignments of a member, because CVAT leaves them with a removed member. They are found by the
 * member's name. Without the name, everything that is assigned is read, which takes longer.
 */
export function createEndAssignments(
  { analytics }: CvatSettings,
  api: CvatApi,
  members: CvatMembers,
): NonNullable<Adapter['endAssignments']> {
  /** Where calls that answered `more` go on. After a restart they begin again. */
  const positions = new Map<string, Position>();

  function isToEnd(one: Assigned, { id, project }: Wish, field: 'id' | 'project_id'): boolean {
    if (String(one.assignee?.id) !== id) return false;
    if (project === null) return true;
    // Without events, the completed jobs that are assigned to a member are the count of their work.
    return String(one[field]) === project && (analytics || one.state !== 'completed');
  }

  async function end(wish: Wish, { path, change }: (typeof kinds)[number], theirs: Assigned[]) {
    const { secrets, signal } = wish;
    const purpose = "end the member's assignments";
    await mapAtOnce(theirs, atOnce, ({ id }) => {
      const call = { path: `${path}/${id}`, body: change, purpose, secrets, signal };
      return unless([404], api.send({ ...call, method: 'PATCH' }));
    });
  }

  /** @returns where the next call goes on; null if nothing of this kind is left */
  async function endSome(wish: Wish, { kind, afterId }: Position): Promise<Position | null> {
    const assignable = kinds[kind];
    if (assignable === undefined) return null;
    const theirs: Assigned[] = [];
    let [lookedThrough, lastId] = [0, afterId];
    const isEnough = () => theirs.length >= mostChanges || lookedThrough >= mostLookedThrough;
    for await (const one of api.list(AssignedPage, toCall(wish, assignable, afterId))) {
      lookedThrough += 1;
      lastId = one.id;
      if (isToEnd(one, wish, assignable.project)) theirs.push(one);
      if (isEnough()) break;
    }
    await end(wish, assignable, theirs);
    return isEnough() ? { kind, afterId: lastId } : null;
  }

  return async (groupId, member, project, signal) => {
    const organization = toOrganization(groupId);
    if (project !== null && !/^[1-9]\d{0,14}$/.test(project)) return 'done';
    const key = JSON.stringify([groupId, member.id, project]);
    const name = member.name ?? (await nameOf(members, groupId, member, signal));
    const secrets = [name, member.email].filter((secret) => secret !== null);
    const wish = { organization, id: member.id, name, project, secrets, signal };
    for (let at = positions.get(key) ?? beginning; at.kind < kinds.length; ) {
      const next = await endSome(wish, at);
      if (next !== null) {
        positions.set(key, next);
        return 'more';
      }
      at = { kind: at.kind + 1, afterId: 0 };
    }
    positions.delete(key);
    return 'done';
  };
}

async function nameOf(
  members: CvatMembers,
  groupId: string,
  member: Member,
  signal: AbortSignal,
): Promise<string | null> {
  return (await members.findById(groupId, member, signal))?.user.username ?? null;
}

function toCall(
  { organization: org, name, project, secrets, signal }: Wish,
  { path, project: field }: (typeof kinds)[number],
  afterId: number,
): CvatCall {
  const query = { org, ...(name !== null && { assignee: name }) };
  const filters = [
    ...(name === null ? [isSet('assignee')] : []),
    ...(project === null ? [] : [isExactly(field, Number(project))]),
  ];
  const purpose = 'list what is assigned to the member';
  return { path, query, filters, purpose, secrets, signal, afterId };
}
