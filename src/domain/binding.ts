/**
 * An install is bound to the customer that it is first seen with, and a tool to the server. If the configuration then names
 * another customer or server, Gangway treats that as a mistake and changes nothing until an operator accepts it. Pure.
 */

/** The customer that a token belongs to; null for what the marketplace does not say. */
export interface Customer {
  grantId: string;
  organizationId: string | null;
  appId: string | null;
}

/**
 * Says how the customer of a token differs from the customer that an install is bound to, as the rest of a sentence that
 * begins with "the token is"; null if they do not differ. After a reconnect, only the grant is new.
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

export interface Server {
  /** What the server calls itself; null if it does not say. */
  identity: string | null;
  /** The configured address or path; null if unknown. */
  location: string | null;
}

/** Whether a tool is another server than the one that it is bound to. A server with an identity may move. */
export function isOtherServer(bound: Server, seen: Server): boolean {
  if (bound.identity !== null && seen.identity !== null) return bound.identity !== seen.identity;
  return isOther(bound.location, seen.location);
}

function isOther(bound: string | null | undefined, seen: string | null): boolean {
  return bound !== null && bound !== undefined && seen !== null && bound !== seen;
}
