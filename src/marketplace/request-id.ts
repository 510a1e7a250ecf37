/** Assumed (spec: platform-api.md has none for answers that are no refusals). */
const header = 'x-request-id';

/** The marketplace's name for a request, to quote to its support; null where it gave none. */
export function requestIdOf(headers: Headers): string | null {
  const requestId = headers.get(header);
  return requestId !== null && /^[\x21-\x7e]{1,200}$/.test(requestId) ? requestId : null;
}
