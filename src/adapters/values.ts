export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An id as text; undefined for anything else, also for numbers beyond the safe integers, which are not exact. */
export function toId(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return Number.isSafeInteger(id) ? String(id) : undefined;
}

/** The unverified claims of a JSON Web Token; undefined for any other token. */
export function claimsOf(token: string): Record<string, unknown> | undefined {
  const [, payload = '', signature, ...more] = token.split('.');
  if (signature === undefined || more.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a text is a number in its canonical form, for tools whose ids are numbers. `007` would reach project 7 under
 * an id that the operator did not allow.
 */
export function isNumericId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
