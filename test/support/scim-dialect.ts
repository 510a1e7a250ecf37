import type { ScimUser } from './scim-front.ts';

/** How a server differs from the RFC. */
export interface ScimDialect {
  /** How it must be asked. */
  token?: string;
  /** What it says of itself; null where it does not. */
  config?: object | null;
  filter?: 'ignored' | 'refused' | 'case_exact';
  /** Whether a search without a result is answered 404. */
  absentIs404?: boolean;
  /** Whether the address is the id of an account, and the name that of a group. */
  idIsName?: boolean;
  /** The forms of PATCH that it understands; it refuses the others. */
  patch?: readonly PatchForm[];
  /** Whether it answers a form that it does not understand with success. */
  nods?: boolean;
  /** Whether "remove these members" removes them all. */
  removesAll?: boolean;
  /** Whether it says that it added a member to a group, and does not. */
  addsNoMember?: boolean;
  putIsRefused?: boolean;
  /** Whether two accounts cannot have the same `externalId`. */
  takenIds?: boolean;
  textBooleans?: boolean;
  emptyBodies?: boolean;
  /** Whether a member who is added twice is in the group twice. */
  keepsDuplicates?: boolean;
  pageSize?: number;
  /** Whether every page is the first one, or only those beyond the last. */
  firstPage?: 'always' | 'past_the_end';
  deletesInactive?: boolean;
  /**
   * How it shows who is in a group, where not always: by no list, by an empty one, by a list only if it is asked for that
   * attribute, by an empty one and the groups of each account, or some reads late.
   */
  showsMembers?: 'never' | 'as_empty' | 'on_request' | 'in_accounts' | 'late';
  /** How many members of a group it shows, where not all. */
  showsFirst?: number;
  takesOnly?: 'application/json' | 'application/scim+json';
  /** Whether a change must name the version. */
  hasVersions?: boolean;
}

export interface ScimAnswer {
  status: number;
  body?: unknown;
}

export interface ScimRequest {
  method: string;
  /** Decoded: `Users`, `Groups`, and an id. */
  type: string;
  id: string | undefined;
  query: Query;
  contentType: string;
  ifMatch: string | undefined;
  body: unknown;
}

/** How many reads of a group show it as it was before, where it is shown late. */
const readsLate = 6;

type Stored = ScimUser & { displayName?: string; members?: { value: string }[] };
type Query = Partial<Record<string, string>>;
type ResourceType = 'Users' | 'Groups';

const errorSchemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];

export function refusal(status: number, detail: string): ScimAnswer {
  return { status, body: { schemas: errorSchemas, status: String(status), detail } };
}

function wrap(members: Stored['members']): object | undefined {
  return members && { members };
}

/** Accounts and groups, and the rules of a server that keeps them. */
export function createScimState(dialect: ScimDialect) {
  const { patch = ['rfc', 'okta', 'entra'], idIsName = false } = dialect;
  const { removesAll = false, keepsDuplicates = false } = dialect;
  const rules = { forms: patch, removesAll, keepsDuplicates };
  const stores = { Users: new Map<string, Stored>(), Groups: new Map<string, Stored>() };
  const versions = new Map<string, number>();
  let lastId = 100;

  function put(type: ResourceType, resource: Omit<Stored, 'id'>, id?: string): Stored {
    const name = String(type === 'Users' ? resource['userName'] : resource['displayName']);
    const stored = { ...resource, id: id ?? (idIsName ? name : String(++lastId)) } as Stored;
    stores[type].set(stored.id, stored);
    versions.set(stored.id, (versions.get(stored.id) ?? 0) + 1);
    const isGone = dialect.deletesInactive === true && stored.active === false;
    if (isGone) stores[type].delete(stored.id);
    return stored;
  }

  /** What each group shows for some reads after its last change. */
  const earlier = new Map<string, { members: Stored['members']; reads: number }>();

  function showMembers({ id, members = [] }: Stored, attributes: string | undefined): object {
    const isAsked = attributes?.split(',').includes('members') === true;
    if (dialect.showsMembers === 'never' || (dialect.showsMembers === 'on_request' && !isAsked)) return {};
    const old = earlier.get(id);
    if (dialect.showsMembers === 'late' && old !== undefined && old.reads > 0) {
      old.reads -= 1;
      return { members: old.members ?? [] };
    }
    const isHidden = dialect.showsMembers === 'as_empty' || dialect.showsMembers === 'in_accounts';
    return { members: isHidden ? [] : members.slice(0, dialect.showsFirst) };
  }

  function groupsOf(userId: string): { value: string }[] {
    const all = [...stores.Groups.values()];
    const theirs = all.filter(({ members = [] }) => members.some(({ value }) => value === userId));
    return theirs.map(({ id }) => ({ value: id }));
  }

  function show(type: ResourceType, resource: Stored, attributes?: string): object {
    const { members: _, ...rest } = resource;
    const active = resource.active === undefined ? {} : { active: showActive(resource.active) };
    const meta = dialect.hasVersions === true && {
      meta: { version: `W/"${versions.get(resource.id)}"` },
    };
    const shown = type === 'Groups' && showMembers(resource, attributes);
    const groups = type === 'Users' && dialect.showsMembers === 'in_accounts' && { groups: groupsOf(resource.id) };
    return { ...rest, ...active, ...shown, ...groups, ...meta };
  }

  function showActive(active: unknown): unknown {
    const text = String(active);
    return dialect.textBooleans === true ? text.replace(/^./, (c) => c.toUpperCase()) : active;
  }

  function find(type: ResourceType, filter: string | undefined): Stored[] {
    const all = [...stores[type].values()];
    if (filter === undefined || dialect.filter === 'ignored') return all;
    return all.filter((one) => isMatch(one, filter));
  }

  function list(type: ResourceType, query: Query): ScimAnswer {
    const { filter } = query;
    if (filter !== undefined && dialect.filter === 'refused') return refusal(400, 'invalidFilter');
    const found = find(type, filter);
    const isAbsent = found.length === 0 && filter !== undefined;
    if (isAbsent && dialect.absentIs404 === true) return refusal(404, 'not found');
    return { status: 200, body: toPage(type, found, query) };
  }

  function toPage(type: ResourceType, found: Stored[], { startIndex = '1', count = '100' }: Query) {
    const isPast = Number(startIndex) > found.length && dialect.firstPage === 'past_the_end';
    const start = isPast || dialect.firstPage === 'always' ? 0 : Number(startIndex) - 1;
    const size = Math.min(Number(count), dialect.pageSize ?? 50);
    const page = found.slice(start, start + size).map((one) => show(type, one));
    const body = { totalResults: found.length, startIndex: start + 1, itemsPerPage: page.length };
    return { ...body, ...(page.length > 0 && { Resources: page }) };
  }

  function isMatch(one: Stored, filter: string): boolean {
    const [, attribute = '', text = '""'] = /^([\w.]+) eq (".*")$/.exec(filter) ?? [];
    const emails = (one['emails'] ?? []) as { value: string }[];
    const has = attribute === 'emails.value' ? emails.map(({ value }) => value) : [one[attribute]];
    const fold = (value: unknown) => (dialect.filter === 'case_exact' ? String(value) : String(value).toLowerCase());
    return has.some((value) => fold(value) === fold(JSON.parse(text)));
  }

  function create(type: ResourceType, body: Stored): ScimAnswer {
    const ids = dialect.takenIds === true && type === 'Users' ? ['externalId'] : [];
    const keys = [type === 'Users' ? 'userName' : 'displayName', ...ids];
    const isLike = (one: Stored, key: string) => String(one[key]).toLowerCase() === String(body[key]).toLowerCase();
    const isTaken = [...stores[type].values()].some((one) => keys.some((key) => isLike(one, key)));
    if (isTaken) return refusal(409, 'uniqueness');
    const created = put(type, body);
    return { status: 201, ...(dialect.emptyBodies !== true && { body: show(type, created) }) };
  }

  function change(type: ResourceType, stored: Stored, operation: Operation): ScimAnswer {
    if (rules.forms.length === 0) return refusal(405, 'no PATCH');
    const isIgnored = dialect.addsNoMember === true && operation.op === 'add';
    if (isIgnored) return { status: 204 };
    const members = () => patchMembers(stored.members ?? [], operation, rules);
    const changed = type === 'Users' ? patchUser(operation, rules) : wrap(members());
    if (changed !== undefined) put(type, { ...stored, ...changed }, stored.id);
    const isFine = changed !== undefined || dialect.nods === true;
    return isFine ? { status: 204 } : refusal(400, 'invalidPath');
  }

  function answerAll(type: ResourceType, { method, body, query }: ScimRequest): ScimAnswer {
    return method === 'POST' ? create(type, body as Stored) : list(type, query);
  }

  function answerOne(type: ResourceType, stored: Stored, request: ScimRequest): ScimAnswer {
    const { method, body, ifMatch, query } = request;
    if (method === 'GET') return { status: 200, body: show(type, stored, query['attributes']) };
    earlier.set(stored.id, { members: stored.members, reads: readsLate });
    const version = `W/"${versions.get(stored.id)}"`;
    if (dialect.hasVersions === true && ifMatch !== version) return refusal(412, 'version');
    if (method === 'PATCH') {
      const [operation] = (body as { Operations: [Operation] }).Operations;
      return change(type, stored, operation);
    }
    if (dialect.putIsRefused === true) return refusal(405, 'no PUT');
    put(type, body as Stored, stored.id);
    return dialect.emptyBodies === true ? { status: 204 } : { status: 200, body };
  }

  return {
    stores,
    put,
    answer(request: ScimRequest): ScimAnswer {
      const { type, id } = request;
      if (type === 'ServiceProviderConfig') return showConfig(dialect.config);
      if (type !== 'Users' && type !== 'Groups') return refusal(404, 'no such endpoint');
      if (isUnread(request, dialect)) return refusal(415, 'media type');
      if (id === undefined) return answerAll(type, request);
      const stored = stores[type].get(id);
      return stored === undefined ? refusal(404, 'not found') : answerOne(type, stored, request);
    },
  };
}

function showConfig(config: object | null = {}): ScimAnswer {
  return config === null ? refusal(404, 'none') : { status: 200, body: config };
}

function isUnread({ method, contentType }: ScimRequest, { takesOnly }: ScimDialect): boolean {
  return takesOnly !== undefined && method !== 'GET' && contentType !== takesOnly;
}

/** What a server makes of a PATCH, by the forms of it that it understands. Pure. */

type PatchForm = 'rfc' | 'okta' | 'entra';

interface Operation {
  op: string;
  path?: string;
  value?: unknown;
}

interface PatchRules {
  forms: readonly PatchForm[];
  /** Whether "remove these members" removes them all. */
  removesAll: boolean;
  /** Whether a member who is added twice is in the group twice. */
  keepsDuplicates: boolean;
}

interface Entry {
  value: string;
}

/** @returns undefined for a form that is not understood */
function patchUser(operation: Operation, { forms }: PatchRules): object | undefined {
  const { path, value } = operation;
  if (path === undefined) return forms.includes('okta') ? (value as object) : undefined;
  const isText = typeof value === 'string';
  if (!forms.includes(isText ? 'entra' : 'rfc')) return undefined;
  return { active: isText ? value === 'True' : value };
}

/** @returns undefined for a form that is not understood */
function patchMembers(
  members: readonly Entry[],
  { op, path = '', value }: Operation,
  rules: PatchRules,
): Entry[] | undefined {
  const given = (value ?? []) as Entry[];
  if (op === 'add') return addMembers(members, given, rules);
  const [, id] = /^members\[value eq (".*")\]$/.exec(path) ?? [];
  if (!rules.forms.includes(id === undefined ? 'entra' : 'rfc')) return undefined;
  if (id !== undefined) return members.filter((one) => one.value !== JSON.parse(id));
  return rules.removesAll ? [] : without(members, given);
}

function addMembers(members: readonly Entry[], given: Entry[], rules: PatchRules): Entry[] {
  return [...(rules.keepsDuplicates ? members : without(members, given)), ...given];
}

function without(members: readonly Entry[], given: readonly Entry[]): Entry[] {
  return members.filter((one) => !given.some((other) => other.value === one.value));
}
