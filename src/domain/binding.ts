/**
 * An install and a tool are bound to the customer and the server that they are first seen with. If the configuration
 * then names another customer or server, Gangway treats that as a mistake and changes nothing until an operator accepts
 * it. Pure.
 */

/** The customer that a token belongs to, as the marketplace says; null where it does not say. */
export interface Customer {
  grantId: string;
  organizationId: string | null;
  appId: string | null;
}

/**
 * Describes how the customer of a token differs from the customer that an install is bound to. The text goes behind
 * "the token is". Null if they are the same, as far as the marketplace says. After a reconnect only the grant is new.
 *
 * @param holder another install that is bound to the grant of the token
 */
export function describeOtherCustomer(
  bound: Customer | undefined,
  seen: Customer,
  holder: string | undefined,
): string | null {
  if (holder !== undefined && bound?.grantId !== seen.grantId) return `that of ${holder}`;
  if (isOther(bound?.organizationId, seen.organizationId)) {
    return `of another customer (${seen.organizationId}) than before (${bound?.organizationId})`;
  }
  if (isOther(bound?.appId, seen.appId)) {
    return `for another app (${seen.appId}) than before (${bound?.appId})`;
  }
  return null;
}

/** What distinguishes one installation of a tool from another. */
export interface Server {
  /** What the server says about itself; null if it has no such identity. */
  identity: string | null;
  /** The configured address or path; null if unknown. */
  location: string | null;
}

/** Whether a tool is another server than the one it is bound to. A server with an identity may move. */
export function isOtherServer(bound: Server, seen: Server): boolean {
  if (bound.identity !== null && seen.identity !== null) return bound.identity !== seen.identity;
  return isOther(bound.location, seen.location);
}

function isOther(bound: string | null | undefined, seen: string | null): boolean {
  return bound !== null && bound !== undefined && seen !== null && bound !== seen;
}
