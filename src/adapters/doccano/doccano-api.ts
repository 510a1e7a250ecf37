import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/path-segment.ts';
import { createRestClient, parseAnswer, type RestClient } from '../../lib/rest-client.ts';
import { createLogin } from '../login.ts';
import { requestTool } from '../tool-request.ts';
import { type DoccanoSettings, Login } from './doccano-schema.ts';

/** The paths are those after `/v1`. */
export function createDoccanoApi({ url, credentials }: DoccanoSettings): RestClient {
  const isToken = 'token' in credentials;
  return createRestClient({
    baseUrl: `${url}/v1`,
    authorization: {
      scheme: 'Token',
      token: isToken ? credentials.token : createLogin((signal) => logInOrThrow(url, credentials, signal)),
      // An expired token is refused with 403, like an account without the right.
      refusals: isToken ? [] : [401, 403],
    },
    secrets: isToken ? [] : [credentials.password],
  });
}

async function logInOrThrow(url: string, name: LoginName, signal: AbortSignal): Promise<{ token: string }> {
  const token = await logIn(url, name, signal);
  if (token !== null) return { token };
  throw new AppError('unauthenticated', 'Could not log in: doccano refuses the username or the password (400)', {
    status: 400,
  });
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
  url: string,
  { username, password }: LoginName,
  signal: AbortSignal,
): Promise<string | null> {
  const { status, body } = await requestTool({
    method: 'POST',
    url: `${url}/v1/auth/login/`,
    purpose: 'log in',
    body: { username, password },
    secrets: [username, password],
    expected: [400],
    signal,
  });
  if (status === 400) return null;
  return parseAnswer(Login, body, 'log in').key;
}

/**
 * The path of a project. Ids are numbers in exactly one form, because with `007` a customer would reach a
 * project by another id than the operator allowed.
 *
 * @throws AppError `invalid` for a text that is no id of a project
 */
export function projectPath(groupId: string): string {
  if (isId(groupId)) return `/projects/${pathSegment(groupId)}`;
  throw new AppError('invalid', 'The id of a doccano project is a whole number, as in its URL');
}

export function isId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
