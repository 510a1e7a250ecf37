/**
 * When a token expires that is a JWT, as in some tools. Pure; it verifies nothing.
 *
 * @returns null for a token without that, or of another kind
 */
export function tokenExpiry(token: string): Date | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp?: unknown };
    return Number.isSafeInteger(claims.exp) ? new Date(Number(claims.exp) * 1000) : null;
  } catch {
    return null;
  }
}
