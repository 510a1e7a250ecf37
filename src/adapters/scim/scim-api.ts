import { AppError } from '../../domain/errors.ts';
import { anyAnswer, createRestClient, type RestCall, type RestClient, statusOf } from '../../lib/rest-client.ts';
import { pathSegment } from '../../lib/url.ts';
import { unless } from '../tool-request.ts';
import { isObject } from '../values.ts';
import { type Resource, textAt } from './resource.ts';
import type { ScimSettings } from './scim-schema.ts';

/** SCIM over HTTP (RFC 7644), and what was learnt about the server. */
export interface Scim {
  settings: ScimSettings;
  client: RestClient;
  contentType: ScimSettings['contentType'];
  /** As it was read last; undefined before. */
  dialect?: Dialect;
  /** Whether its filters respect the case of a name; undefined before that was tried. */
  mindsCase?: boolean | undefined;
  /** Whether it reads "remove these members" as "remove all members", as some strict servers do. */
  emptiesGroups: boolean;
  /** The last known id of each group by its name. */
  groupIds: Map<string, string>;
  /** The additions to each group that it has accepted and not shown yet. */
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
  /** Addresses, and ids that may be addresses, which an error must not quote. */
  hidden?: readonly string[];
  signal: AbortSignal;
}

export type Query = Record<string, string | number>;

export type ResourceType = 'Users' | 'Groups';

/** A group is read with all its members. This is enough for some hundred thousand. */
const maxBytes = 16 * 1024 * 1024;

export function createScim(settings: ScimSettings): Scim {
  const { url, token, contentType } = settings;
  const client = createRestClient({
    baseUrl: url,
    authorization: { scheme: 'Bearer', token },
    headers: { accept: 'application/scim+json, application/json' },
    maxBytes,
  });
  return { settings, client, contentType, emptiesGroups: false, groupIds: new Map(), unshown: new Map() };
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
  const version = scim.settings.ifMatch && isObject(meta) ? textAt({ id, ...meta }, 'version') : null;
  const headers = version === null ? {} : { 'if-match': version };
  const hidden = [...(call.hidden ?? []), id];
  try {
    // The resource is read again anyway, and many servers answer with nothing.
    await send(scim, pathOf(type, id), { ...call, hidden }, { method, body, headers });
  } catch (error) {
    if (statusOf(error) !== 412) throw error;
    const why = `Could not ${call.purpose}: another program changed it at the same moment`;
    throw new AppError('unavailable', why, { cause: error, status: 412 });
  }
}

type Rest = Pick<RestCall<unknown>, 'method' | 'body' | 'headers' | 'answer'>;

/** Some servers accept only one content type, and refuse another one without reading the body. */
async function send(scim: Scim, path: string, call: ScimCall, rest: Rest): Promise<unknown> {
  try {
    return await sendOnce(scim, path, call, rest);
  } catch (error) {
    if (statusOf(error) !== 415) throw error;
    scim.contentType = scim.contentType === 'application/json' ? 'application/scim+json' : 'application/json';
    return await sendOnce(scim, path, call, rest);
  }
}

async function sendOnce(scim: Scim, path: string, { hidden = [], ...call }: ScimCall, rest: Rest): Promise<unknown> {
  const headers = { ...(rest.body !== undefined && { 'content-type': scim.contentType }), ...rest.headers };
  const secrets = hidden.flatMap((text) => [text, text.toLowerCase()]);
  return await scim.client.call({ ...call, ...rest, path, headers, secrets });
}

/** Encoded by hand, because some servers do not decode the plus that `URLSearchParams` uses for a space. */
function toQuery(query: Query): string {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const mostOnPage = 100;

/** As it was first read. The check reads it again, because a new version of the server may change it. */
export async function readDialect(scim: Scim, signal: AbortSignal): Promise<Dialect> {
  return scim.dialect ?? (await refreshDialect(scim, signal));
}

/** A feature that is not mentioned is taken as supported, because most servers have it. */
export async function refreshDialect(scim: Scim, signal: AbortSignal): Promise<Dialect> {
  const call = { purpose: 'read what the server supports', signal };
  // Not every server has or shows it. Then the features are tried.
  const answer = await unless([400, 403, 404, 405, 501], scimGet(scim, '/ServiceProviderConfig', {}, call));
  const { filter, patch } = isObject(answer) ? answer : {};
  const { supported: hasFilter, maxResults: most } = isObject(filter) ? filter : {};
  const { supported: hasPatch } = isObject(patch) ? patch : {};
  const hasLimit = typeof most === 'number' && Number.isSafeInteger(most) && most > 0;
  scim.dialect = {
    hasPatch: hasPatch !== false,
    hasFilter: hasFilter !== false,
    pageSize: hasLimit ? Math.min(most, mostOnPage) : mostOnPage,
  };
  return scim.dialect;
}

/** One way to request a change. Servers differ in the ways they understand. */
export interface ChangeAttempt {
  send(current: Resource): Promise<void>;
  /** Harmful on a server that understands an earlier way, so it is tried only if all were refused. */
  isRisky?: boolean;
  /** Called with the resource before and after, if the attempt was accepted. */
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

/** Writes the whole resource, with everything else in it. */
export function putWith(
  scim: Scim,
  type: ResourceType,
  edit: (resource: Resource) => Resource,
  call: ScimCall,
): ChangeAttempt {
  return { send: (resource) => scimChange(scim, { method: 'PUT', type, body: edit(resource) }, resource, call) };
}

/** Statuses that mean: not understood or not allowed this way. Nothing was changed. */
const refusals = [400, 404, 405, 409, 415, 422, 501];

/**
 * Tries one way after the other until the server shows the change. An answer of success proves nothing,
 * because servers accept requests and then ignore them.
 *
 * @throws AppError the error of the first way if all were refused; `unavailable` if one was accepted
 * without an effect
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
