/** Values in links and in the answers of tools. Pure. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An id as text; undefined for anything else. Numbers beyond the safe integers are refused, as they are not exact. */
export function toId(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return Number.isSafeInteger(id) ? String(id) : undefined;
}

/** The claims of a JSON Web Token, which are not verified; undefined for a token of another kind. */
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
 * Whether a text is a number in its normal form, for tools whose ids are numbers. With `007` a customer would reach a
 * project by another id than the operator allowed.
 */
export function isNumericId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
