import { mapAtOnce } from '../../lib/at-once.ts';
import type { Adapter, Member } from '../adapter.ts';
import { type CvatApi, type CvatCall, isExactly, isSet } from './cvat-api.ts';
import { type Assigned, type CvatSettings, readAssigned, toOrganization } from './cvat-schema.ts';
import type { CvatMembers } from './find-members.ts';
import { unlessGone } from './remove-member.ts';

/** What can be assigned to somebody, what its assignee is called in a change, and its project. */
const kinds = [
  { path: '/api/jobs', change: { assignee: null }, project: 'project_id' },
  { path: '/api/tasks', change: { assignee_id: null }, project: 'project_id' },
  { path: '/api/projects', change: { assignee_id: null }, project: 'id' },
] as const;

/** So much is changed, or looked through, in one call: each has to fit into its time. */
const mostChanges = 20;
const mostLookedThrough = 2000;
/** How many changes are under way at a time. */
const atOnce = 5;

/** How far it has come: a kind, and the id after which its list goes on. */
interface Position {
  kind: number;
  afterId: number;
}

const beginning: Position = { kind: 0, afterId: 0 };

interface Wish {
  organization: string;
  id: string;
  /** Null where they are no member any more: then nobody tells it. */
  name: string | null;
  project: string | null;
  secrets: string[];
  signal: AbortSignal;
}

/**
 * Assigns to nobody what is assigned to somebody: CVAT leaves it with whoever is taken out. It is
 * found by their name, which only members show; else by going through all that is assigned to
 * anybody, which takes longer.
 */
export function createEndAssignments(
  { analytics }: CvatSettings,
  api: CvatApi,
  members: CvatMembers,
): NonNullable<Adapter['endAssignments']> {
  /** Of those that answered `more`. What is lost with the process begins anew. */
  const positions = new Map<string, Position>();

  function isToEnd(one: Assigned, { id, project }: Wish, field: 'id' | 'project_id'): boolean {
    if (String(one.assignee?.id) !== id) return false;
    if (project === null) return true;
    // Without events, the completed jobs that somebody has are the count of their work.
    return String(one[field]) === project && (analytics || one.state !== 'completed');
  }

  async function end(wish: Wish, { path, change }: (typeof kinds)[number], theirs: Assigned[]) {
    const { secrets, signal } = wish;
    const purpose = "end the member's assignments";
    await mapAtOnce(theirs, atOnce, ({ id }) => {
      const call = { path: `${path}/${id}`, body: change, purpose, secrets, signal };
      return api.tell({ ...call, method: 'PATCH' }).catch(unlessGone);
    });
  }

  /** @returns where it goes on; null where nothing is left of this kind */
  async function endSome(wish: Wish, { kind, afterId }: Position): Promise<Position | null> {
    const assignable = kinds[kind];
    if (assignable === undefined) return null;
    const theirs: Assigned[] = [];
    let [lookedThrough, lastId] = [0, afterId];
    const isEnough = () => theirs.length >= mostChanges || lookedThrough >= mostLookedThrough;
    for await (const one of api.list(readAssigned, toCall(wish, assignable, afterId))) {
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
