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
export async function scimChange(
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
