import { parse } from 'node:querystring';
import type { Request } from 'express';
import SCIMMY from 'scimmy';
import SCIMMYRouters from 'scimmy-routers';
import { openScimFront, type ScimTool, type ScimUser } from './scim-front.ts';

/** A real SCIM server: SCIMMY, with maps for its storage. */
interface Store {
  users: Map<string, ScimUser>;
  groups: Map<string, ScimGroup>;
  nextId(): string;
}

interface ScimGroup {
  id: string;
  displayName: string;
  members?: { value: string }[];
}

/** It keeps one set of handlers for the whole process, which get the sender of each request. */
const stores = new Map<number, Store>();

interface Handled {
  id?: string;
  filter?: { match(all: object[]): object[] };
}

function handlersOf(pick: (store: Store) => Map<string, object>, nameKey: string) {
  return {
    egress(resource: Handled, store: Store) {
      const all = [...pick(store).values()];
      if (resource.id === undefined) return resource.filter?.match(all) ?? all;
      return findById(pick(store), resource.id);
    },
    ingress(resource: Handled, data: object, store: Store) {
      const map = pick(store);
      const given = JSON.parse(JSON.stringify(data)) as Record<string, unknown>;
      const nameOf = (one: object) => String((one as Record<string, unknown>)[nameKey]);
      const isTaken = [...map.entries()].some(([id, one]) => id !== resource.id && nameOf(one) === given[nameKey]);
      if (isTaken) throw new SCIMMY.Types.Error(409, 'uniqueness', `${nameKey} is taken`);
      if (resource.id !== undefined) findById(map, resource.id);
      const id = resource.id ?? store.nextId();
      map.set(id, { ...given, id });
      return map.get(id);
    },
    degress(resource: Handled, store: Store) {
      pick(store).delete(resource.id ?? '');
    },
  };
}

function findById(map: Map<string, object>, id: string): object {
  const found = map.get(id);
  if (found !== undefined) return found;
  throw new SCIMMY.Types.Error(404, null as never, `Resource ${id} not found`);
}

SCIMMY.Resources.declare(SCIMMY.Resources.User, handlersOf(({ users }) => users, 'userName') as never);
SCIMMY.Resources.declare(SCIMMY.Resources.Group, handlersOf(({ groups }) => groups, 'displayName') as never);

export async function openScimmy(groups: readonly string[] = []): Promise<ScimTool> {
  let lastId = 100;
  const store: Store = { users: new Map(), groups: new Map(), nextId: () => String(++lastId) };
  for (const displayName of groups) {
    const id = store.nextId();
    store.groups.set(id, { id, displayName });
  }
  const routers = new SCIMMYRouters({
    type: 'bearer',
    handler(request: Request) {
      if (request.headers.authorization === `Bearer ${front.token}`) return 'owner';
      throw new Error('Unauthorised');
    },
    context: (request: Request) => stores.get(request.socket.localPort ?? 0),
  } as never);
  const front = await openScimFront(
    (request, response, next) => {
      // It writes into the query, which Express 5 parses at each read.
      const query = parse(request.url.split('?')[1] ?? '');
      Object.defineProperty(request, 'query', { value: { ...query } });
      routers(request, response, next);
    },
    (id) => store.groups.get(id)?.members?.length ?? 0,
  );
  stores.set(Number(new URL(front.url).port), store);
  return { ...front, ...handsOf(store) };
}

function handsOf(store: Store): Pick<ScimTool, 'users' | 'members' | 'seed' | 'giveOut'> {
  const groupOf = (name: string) => [...store.groups.values()].find(({ displayName }) => displayName === name);
  return {
    users: () => [...store.users.values()],
    members: (name) => groupOf(name)?.members?.map(({ value }) => value) ?? [],
    giveOut: (id, userName) => void store.users.set(id, { id, userName, active: true }),
    seed(user, name) {
      const id = store.nextId();
      store.users.set(id, { active: true, ...user, id });
      const group = name === undefined ? undefined : groupOf(name);
      if (group !== undefined) group.members = [...(group.members ?? []), { value: id }];
      return id;
    },
  };
}
