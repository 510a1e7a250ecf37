import { parseAnswer, type RestOptions } from '../../lib/rest-client.ts';
import { createLogin, type LoggedIn } from '../login.ts';
import { requestTool } from '../tool-request.ts';
import { AccessToken, type LabelStudioSettings, TokenClaims } from './label-studio-schema.ts';

/** An access token is renewed after this share of its life. */
const usedShare = 0.8;

/**
 * A personal access token is a JSON Web Token that is exchanged for access for some minutes. Every other
 * token is a legacy token and is sent as it is.
 */
export function createAuthorization({ url, token }: LabelStudioSettings): RestOptions['authorization'] {
  if (!isPersonalToken(token)) return { scheme: 'Token', token };
  return { scheme: 'Bearer', token: createLogin((signal) => exchange(url, token, signal)) };
}

async function exchange(root: string, token: string, signal: AbortSignal): Promise<LoggedIn> {
  const purpose = 'get access with the personal access token';
  const { body } = await requestTool({
    method: 'POST',
    url: `${root}/api/token/refresh/`,
    purpose,
    signal,
    body: { refresh: token },
    secrets: [token],
  });
  const { access } = parseAnswer(AccessToken, body, purpose);
  return { token: access, validForMs: lifeMsOf(access) };
}

export function isPersonalToken(token: string): boolean {
  return claimsOf(token) !== undefined;
}

/** The time from issue to expiry, because the clocks of the two machines may differ. */
function lifeMsOf(accessToken: string): number {
  const { exp = 0, iat = 0 } = claimsOf(accessToken) ?? {};
  return Math.max(exp - iat, 0) * 1000 * usedShare;
}

function claimsOf(token: string): TokenClaims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const payload: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    return TokenClaims.safeParse(payload).data;
  } catch {
    return undefined;
  }
}
