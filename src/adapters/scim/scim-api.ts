import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/path-segment.ts';
import { requestTool, statusOf } from '../tool-request.ts';
import { isObject, type Resource, textAt } from './resource.ts';
import type { ScimSettings } from './scim-schema.ts';

/** SCIM over HTTP (RFC 7644): one request for each call, with a time-out and a size limit. */
export interface ScimApi {
  /** @throws AppError as `requestJson` */
  get(path: string, query: Query, call: ScimCall): Promise<unknown>;
  post(path: string, body: object, call: ScimCall): Promise<unknown>;
  /**
   * Changes a resource. If the settings say so, only the version that was read.
   *
   * @throws AppError `unavailable` if it has changed since
   */
  change(method: 'PATCH' | 'PUT', at: TypedResource, body: object, call: ScimCall): Promise<void>;
}

export interface ScimCall {
  /** What the call tries to do: "create the account". */
  purpose: string;
  /** Addresses, and ids that may be addresses, which an error must not quote. */
  hidden?: readonly string[];
  signal: AbortSignal;
}

export type Query = Record<string, string | number>;

export interface TypedResource {
  type: ResourceType;
  resource: Resource;
}

export type ResourceType = 'Users' | 'Groups';

/** A group is read with all its members. This is enough for some hundred thousand. */
const maxBytes = 16 * 1024 * 1024;

export function pathOf(type: ResourceType, id: string): string {
  return `/${type}/${pathSegment(id)}`;
}

export function createScimApi(settings: ScimSettings): ScimApi {
  const { url: root, token, ifMatch } = settings;
  let contentType: ScimSettings['contentType'] = settings.contentType;

  async function sendOnce(method: string, url: string, call: ScimCall, rest: Rest): Promise<unknown> {
    const { hidden = [], ...request } = call;
    const headers = {
      accept: 'application/scim+json, application/json',
      authorization: `Bearer ${token}`,
      ...(rest.body !== undefined && { 'content-type': contentType }),
      ...rest.headers,
    };
    const secrets = [token, ...hidden.flatMap((text) => [text, text.toLowerCase()])];
    const answer = await requestTool({ ...request, ...rest, method, url: `${root}${url}`, headers, secrets, maxBytes });
    return answer.body;
  }

  /** Some servers accept only one content type, and refuse another one without reading the body. */
  async function send(method: string, url: string, call: ScimCall, rest: Rest): Promise<unknown> {
    try {
      return await sendOnce(method, url, call, rest);
    } catch (error) {
      if (statusOf(error) !== 415) throw error;
      contentType = contentType === 'application/json' ? 'application/scim+json' : 'application/json';
      return await sendOnce(method, url, call, rest);
    }
  }

  return {
    get: (path, query, call) => send('GET', `${path}${toQuery(query)}`, call, {}),
    post: (path, body, call) => send('POST', path, call, { body }),
    async change(method, { type, resource }, body, call) {
      const version = ifMatch ? versionOf(resource) : null;
      const headers = version === null ? {} : { 'if-match': version };
      const hidden = [...(call.hidden ?? []), resource.id];
      const path = pathOf(type, resource.id);
      try {
        // The resource is read again anyway, and many servers answer with nothing.
        await send(method, path, { ...call, hidden }, { body, headers, isAnswerIgnored: true });
      } catch (error) {
        if (statusOf(error) !== 412) throw error;
        const why = `Could not ${call.purpose}: another program changed it at the same moment`;
        throw new AppError('unavailable', why, { cause: error, status: 412 });
      }
    },
  };
}

interface Rest {
  body?: object;
  headers?: Record<string, string>;
  isAnswerIgnored?: boolean;
}

/** Encoded by hand, because some servers do not decode the plus that `URLSearchParams` uses for a space. */
function toQuery(query: Query): string {
  const pairs = Object.entries(query).map(
    ([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export function toPatch(operation: object): object {
  return { schemas: [patchSchema], Operations: [operation] };
}

function versionOf(resource: Resource): string | null {
  const meta = resource['meta'];
  return isObject(meta) ? textAt({ id: resource.id, ...meta }, 'version') : null;
}
