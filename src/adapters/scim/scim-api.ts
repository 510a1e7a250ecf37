import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/path-segment.ts';
import { anyAnswer, createRestClient, type RestCall, statusOf } from '../../lib/rest-client.ts';
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
  const { url, token, ifMatch } = settings;
  const client = createRestClient({
    baseUrl: url,
    authorization: { scheme: 'Bearer', token },
    headers: { accept: 'application/scim+json, application/json' },
    maxBytes,
  });
  let contentType: ScimSettings['contentType'] = settings.contentType;

  async function sendOnce(path: string, { hidden = [], ...call }: ScimCall, rest: Rest): Promise<unknown> {
    const headers = { ...(rest.body !== undefined && { 'content-type': contentType }), ...rest.headers };
    const secrets = hidden.flatMap((text) => [text, text.toLowerCase()]);
    return await client.call({ ...call, ...rest, path, headers, secrets });
  }

  /** Some servers accept only one content type, and refuse another one without reading the body. */
  async function send(path: string, call: ScimCall, rest: Rest): Promise<unknown> {
    try {
      return await sendOnce(path, call, rest);
    } catch (error) {
      if (statusOf(error) !== 415) throw error;
      contentType = contentType === 'application/json' ? 'application/scim+json' : 'application/json';
      return await sendOnce(path, call, rest);
    }
  }

  return {
    get: (path, query, call) => send(`${path}${toQuery(query)}`, call, { answer: anyAnswer }),
    post: (path, body, call) => send(path, call, { method: 'POST', body, answer: anyAnswer }),
    async change(method, { type, resource }, body, call) {
      const version = ifMatch ? versionOf(resource) : null;
      const headers = version === null ? {} : { 'if-match': version };
      const hidden = [...(call.hidden ?? []), resource.id];
      const path = pathOf(type, resource.id);
      try {
        // The resource is read again anyway, and many servers answer with nothing.
        await send(path, { ...call, hidden }, { method, body, headers });
      } catch (error) {
        if (statusOf(error) !== 412) throw error;
        const why = `Could not ${call.purpose}: another program changed it at the same moment`;
        throw new AppError('unavailable', why, { cause: error, status: 412 });
      }
    },
  };
}

type Rest = Pick<RestCall<unknown>, 'method' | 'body' | 'headers' | 'answer'>;

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
