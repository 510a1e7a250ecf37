import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import type { Resource } from './resource.ts';
import { type ResourceType, type Scim, type ScimCall, scimChange } from './scim-api.ts';

/** One way to request a change. Servers differ in the ways they understand. */
export interface ChangeAttempt {
  send(current: Resource): Promise<void>;
  /** Harmful on a server that understands an earlier way, so it is tried only if all were refused. */
  isRisky?: boolean;
  /** Called with the resource before and after, if the attempt was accepted. */
  review?(before: Resource, after: Resource | null): Promise<void>;
}

export interface ChangeAttempts {
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
