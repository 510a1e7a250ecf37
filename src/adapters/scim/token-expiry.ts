/**
 * When a token ends that is a JWT, as some tools make them. Pure; nothing is verified.
 *
 * @returns null for one that does not say, or is something else
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
