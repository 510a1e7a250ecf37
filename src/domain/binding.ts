/**
 * What an install and a tool are bound to when they are first seen, so that a token or an address
 * that was swapped in the configuration touches nobody: another customer, or another server, is a
 * mistake until an operator says otherwise. Pure.
 */

/** Whose a token is, as the marketplace tells; null where it does not. */
export interface Customer {
  grantId: string;
  organizationId: string | null;
  appId: string | null;
}

/**
 * How the customer of a token is another than the one that an install is bound to, to go behind "the
 * token is"; null where it is the same, as far as can be told. A reconnect has a new grant.
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

/** What tells the installation of a tool from another. */
export interface Server {
  /** What the server says of itself, wherever it stands; null where it has nothing of the kind. */
  identity: string | null;
  /** Where it stands, as configured; null where that is not known. */
  place: string | null;
}

/** Whether a tool is another than the one it is bound to. What has an identity may move. */
export function isOtherServer(bound: Server, seen: Server): boolean {
  if (bound.identity !== null && seen.identity !== null) return bound.identity !== seen.identity;
  return isOther(bound.place, seen.place);
}

function isOther(bound: string | null | undefined, seen: string | null): boolean {
  return bound !== null && bound !== undefined && seen !== null && bound !== seen;
}
