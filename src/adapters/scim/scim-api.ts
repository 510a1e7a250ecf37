import { AppError } from '../../domain/errors.ts';
import { toInstantText } from '../../domain/marketplace-text.ts';
import { anyAnswer, createRestClient, statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/text.ts';
import { pathSegment } from '../../lib/url.ts';
import type { Member } from '../adapter.ts';
import { type ToolCall, type ToolClient, unless, withSignal } from '../tool-request.ts';
import { isObject, toId } from '../values.ts';
import type { ScimSettings } from './scim-schema.ts';

/** SCIM over HTTP (RFC 7644), during one call of the port. */
export interface Scim {
  settings: ScimSettings;
  api: ToolClient;
  server: Server;
}

/** What Gangway has learned about the server. */
interface Server {
  contentType: ScimSettings['contentType'];
  dialect?: Dialect;
  /** Whether its filters are case-sensitive; undefined until that was tried. */
  isCaseSensitive?: boolean | undefined;
  /** Whether it reads "remove these members" as "remove all members", as some strict servers do. */
  emptiesGroups: boolean;
  /** The last known id of each group by its name. */
  groupIds: Map<string, string>;
  /** By group: the members that it accepted but does not show yet. */
  unshown: Map<string, Set<string>>;
}

/** The parts of `/ServiceProviderConfig` that matter. */
export interface Dialect {
  hasPatch: boolean;
  hasFilter: boolean;
  /** How many resources to request at a time. */
  pageSize: number;
}

export interface ScimCall {
  /** What the call tries to do: "create the account". */
  purpose: string;
  /** Texts that an error must not quote: addresses, and ids that may be addresses. */
  hidden?: readonly string[];
}

export type Query = Record<string, string | number>;

export type ResourceType = 'Users' | 'Groups';

/** A group is read with all its members. This is enough for about 100,000. */
const maxBytes = 16 * 1024 * 1024;

export function createScim(settings: ScimSettings): (signal: AbortSignal) => Scim {
  const { url, token, contentType } = settings;
  const client = createRestClient({
    baseUrl: url,
    authorization: { scheme: 'Bearer', token },
    headers: { accept: 'application/scim+json, application/json' },
    maxBytes,
  });
  const server: Server = { contentType, emptiesGroups: false, groupIds: new Map(), unshown: new Map() };
  return (signal) => ({ settings, api: withSignal(client, signal), server });
}

export function pathOf(type: ResourceType, id: string): string {
  return `/${type}/${pathSegment(id)}`;
}

export async function scimGet(scim: Scim, path: string, query: Query, call: ScimCall): Promise<unknown> {
  return await send(scim, `${path}${toQuery(query)}`, call, { answer: anyAnswer });
}

export async function scimPost(scim: Scim, path: string, body: object, call: ScimCall): Promise<unknown> {
  return await send(scim, path, call, { method: 'POST', body, answer: anyAnswer });
}

/**
 * Changes a resource. If the settings say so, only the version that was read.
 *
 * @throws AppError `unavailable` if it has changed since
 */
async function scimChange(
  scim: Scim,
  { method, type, body }: { method: 'PATCH' | 'PUT'; type: ResourceType; body: object },
  resource: Resource,
  call: ScimCall,
): Promise<void> {
  const { id, meta } = resource;
  const { version } = scim.settings.ifMatch && isObject(meta) ? meta : {};
  const headers: Record<string, string> = typeof version === 'string' ? { 'if-match': version } : {};
  const hidden = [...(call.hidden ?? []), id];
  try {
    // The answer is not needed: the resource is read again, and many servers answer with nothing.
    await send(scim, pathOf(type, id), { ...call, hidden }, { method, body, headers });
  } catch (error) {
    if (statusOf(error) !== 412) throw error;
    const why = `Could not ${call.purpose}: another program changed it at the same moment`;
    throw new AppError('unavailable', why, { cause: error, status: 412 });
  }
}

type Rest = Pick<ToolCall<unknown>, 'method' | 'body' | 'headers' | 'answer'>;

/** Some servers accept only one of the content types, and refuse the other without reading the body. */
async function send(scim: Scim, path: string, { hidden = [], ...call }: ScimCall, rest: Rest): Promise<unknown> {
  const secrets = hidden.flatMap((text) => [text, text.toLowerCase()]);
  const sendOnce = async () => {
    const headers = { ...(rest.body !== undefined && { 'content-type': scim.server.contentType }), ...rest.headers };
    return await scim.api.call({ ...call, ...rest, path, headers, secrets });
  };
  try {
    return await sendOnce();
  } catch (error) {
    if (statusOf(error) !== 415) throw error;
    scim.server.contentType =
      scim.server.contentType === 'application/json' ? 'application/scim+json' : 'application/json';
    return await sendOnce();
  }
}

/** Not by `URLSearchParams`, which encodes a space as a plus: some servers do not decode that. */
function toQuery(query: Query): string {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const mostOnPage = 100;

/** Cached. The check reads it again, because an upgrade of the server may change it. */
export async function readDialect(scim: Scim): Promise<Dialect> {
  return scim.server.dialect ?? (await refreshDialect(scim));
}

/** A feature that is not mentioned is assumed to be supported, because most servers have it. */
export async function refreshDialect(scim: Scim): Promise<Dialect> {
  const call = { purpose: 'read what the server supports' };
  // A server may not have it, or not show it. Then the features are tried.
  const answer = await unless([400, 403, 404, 405, 501], scimGet(scim, '/ServiceProviderConfig', {}, call));
  const { filter, patch } = isObject(answer) ? answer : {};
  const { supported: hasFilter, maxResults: most } = isObject(filter) ? filter : {};
  const { supported: hasPatch } = isObject(patch) ? patch : {};
  const hasLimit = typeof most === 'number' && Number.isSafeInteger(most) && most > 0;
  scim.server.dialect = {
    hasPatch: hasPatch !== false,
    hasFilter: hasFilter !== false,
    pageSize: hasLimit ? Math.min(most, mostOnPage) : mostOnPage,
  };
  return scim.server.dialect;
}

/** One way to request a change. Servers understand different ones. */
export interface ChangeAttempt {
  send(current: Resource): Promise<void>;
  /** Harmful on a server that understands an earlier attempt, so it is tried only if all of those were refused. */
  isRisky?: boolean;
  /** Called after the server accepted the attempt. */
  review?(before: Resource, after: Resource | null): Promise<void>;
}

interface ChangeAttempts {
  attempts: readonly ChangeAttempt[];
  /** Null if the resource is gone. */
  read(): Promise<Resource | null>;
  isDone(current: Resource | null): boolean;
  /** For errors: "deactivated the account". */
  did: string;
}

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export function patchWith(scim: Scim, type: ResourceType, operation: object, call: ScimCall): ChangeAttempt {
  const body = { schemas: [patchSchema], Operations: [operation] };
  return { send: (resource) => scimChange(scim, { method: 'PATCH', type, body }, resource, call) };
}

/** Writes the whole resource back. */
export function putWith(
  scim: Scim,
  type: ResourceType,
  edit: (resource: Resource) => Resource,
  call: ScimCall,
): ChangeAttempt {
  return { send: (resource) => scimChange(scim, { method: 'PUT', type, body: edit(resource) }, resource, call) };
}

/** The server does not understand or allow this way. It changed nothing. */
const refusals = [400, 404, 405, 409, 415, 422, 501];

/**
 * Tries one attempt after the other until the server shows the change. A success answer proves nothing, because some
 * servers accept requests and ignore them.
 *
 * @throws AppError the first refusal if all attempts were refused; `unavailable` if one was accepted without an effect
 */
export async function tryChanges(
  resource: Resource,
  { attempts, read, isDone, did }: ChangeAttempts,
): Promise<Resource | null> {
  let current = resource;
  let refusal: unknown;
  let wasAccepted = false;
  for (const attempt of attempts) {
    if (attempt.isRisky && wasAccepted) continue;
    const refused = await refusalOf(attempt.send(current));
    refusal ??= refused;
    if (refused !== undefined) continue;
    wasAccepted = true;
    const after = await read();
    await attempt.review?.(current, after);
    if (isDone(after)) return after;
    if (after === null) break;
    current = after;
  }
  if (!wasAccepted && refusal !== undefined) throw refusal;
  throw new AppError('unavailable', `The tool says it ${did} but does not show it`);
}

/** The error of a refused change; undefined if the server accepted it. */
export async function refusalOf(sending: Promise<void>): Promise<unknown> {
  try {
    await sending;
    return undefined;
  } catch (error) {
    if (refusals.includes(statusOf(error) ?? 0)) return error;
    throw error;
  }
}

/** A user or a group as the server shows it (RFC 7643). All attributes are kept, so that it can be written back. */
export interface Resource {
  id: string;
  [attribute: string]: unknown;
}

/** Undefined for anything but an object with an id. */
export function toResource(value: unknown): Resource | undefined {
  if (!isObject(value)) return undefined;
  const id = toId(value['id']);
  return id === undefined ? undefined : { ...value, id };
}

/** `active` is optional, and some servers show it as text. Without it, the account is active. */
export function isActive(user: Resource): boolean {
  return String(user['active']).toLowerCase() !== 'false';
}

export function hasAddress(user: Resource, email: string): boolean {
  return [textAt(user, 'userName'), ...emailsOf(user)].some((one) => isSameAddress(one, email));
}

/** The user name, if it is an address; else the primary address. */
export function toMember(user: Resource): Member {
  const userName = textAt(user, 'userName');
  const email = userName?.includes('@') ? userName : emailsOf(user)[0];
  const { created } = isObject(user['meta']) ? user['meta'] : {};
  const madeAt = toInstantText(created);
  return { id: user.id, email: email ?? null, ...(madeAt !== undefined && { madeAt }) };
}

/** The primary one first. */
function emailsOf(user: Resource): string[] {
  const entries = entriesAt(user, 'emails');
  const isPrimary = (entry: Record<string, unknown>) => Number(entry['primary'] === true);
  return entries
    .toSorted((one, other) => isPrimary(other) - isPrimary(one))
    .map((entry) => entry['value'])
    .filter((value): value is string => typeof value === 'string' && value.includes('@'));
}

/** The groups that the account itself names. Not all servers show them, so an account that names none proves nothing. */
export function groupsOf(user: Resource): string[] {
  return entriesAt(user, 'groups').flatMap(({ value }) => toId(value) ?? []);
}

export function textAt(resource: Resource, attribute: string): string | null {
  const value = resource[attribute];
  return typeof value === 'string' ? value : null;
}

/** Undefined if the resource shows no list. */
export function listAt(resource: Resource, attribute: string): unknown[] | undefined {
  const value = resource[attribute];
  return Array.isArray(value) ? value : undefined;
}

export function entriesAt(resource: Resource, attribute: string): Record<string, unknown>[] {
  return listAt(resource, attribute)?.filter(isObject) ?? [];
}
