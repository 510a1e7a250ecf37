import { AppError } from '../../domain/errors.ts';
import { createRestClient, type RestClient } from '../../lib/rest-client.ts';
import { createLogin, unless } from '../tool-request.ts';
import { isNumericId } from '../values.ts';
import { type DoccanoSettings, Login } from './doccano-schema.ts';

/** The paths are those after `/v1`. No cookie is kept, because with a session doccano asks for a CSRF token. */
export function createDoccanoApi({ url, credentials }: DoccanoSettings): RestClient {
  const baseUrl = `${url}/v1`;
  if ('token' in credentials) {
    return createRestClient({ baseUrl, authorization: { scheme: 'Token', token: credentials.token, refusals: [] } });
  }
  const token = createLogin(async (signal) => {
    const key = await logIn(api, credentials, signal);
    if (key !== null) return { token: key };
    const why = 'doccano refuses the username or the password (400)';
    throw new AppError('unauthenticated', `Could not log in: ${why}`, { status: 400 });
  });
  const api: RestClient = createRestClient({
    baseUrl,
    // An expired token is refused with 403, like an account without the right.
    authorization: { scheme: 'Token', token, refusals: [401, 403] },
    secrets: [credentials.password],
  });
  return api;
}

export interface LoginName {
  username: string;
  password: string;
}

/**
 * The token of an account.
 *
 * @returns null if doccano refuses the username or the password
 */
export async function logIn(
  api: RestClient,
  { username, password }: LoginName,
  signal: AbortSignal,
): Promise<string | null> {
  const request = { method: 'POST', path: '/auth/login/', purpose: 'log in', isAnonymous: true } as const;
  const [body, secrets] = [{ username, password }, [username, password]];
  const login = await unless([400], api.call({ ...request, body, secrets, answer: Login, signal }));
  return login === null ? null : login.key;
}

/** @throws AppError `invalid` for a text that is not the id of a project */
export function projectPath(groupId: string): string {
  if (isNumericId(groupId)) return `/projects/${groupId}`;
  throw new AppError('invalid', 'The id of a doccano project is a whole number, as in its URL');
}
