import { AppError } from '../../domain/errors.ts';
import { requestDefaults, requestTool } from '../tool-request.ts';
import { type DoccanoSettings, Login } from './doccano-schema.ts';

/** The token for requests. It is only in memory, and no cookie is ever kept. */
export interface DoccanoSession {
  /** What errors must not quote. */
  readonly secrets: readonly string[];
  /** Logs in if there is no token yet. Calls at the same time wait for the same login. */
  token(signal: AbortSignal): Promise<string>;
  /** A new token instead of a refused one; null if there is none. */
  renew(refused: string, signal: AbortSignal): Promise<string | null>;
}

export function createDoccanoSession({ url, credentials }: DoccanoSettings): DoccanoSession {
  if ('token' in credentials) {
    const { token } = credentials;
    return { secrets: [token], token: async () => token, renew: async () => null };
  }
  let current: Promise<string> | undefined;
  const secrets = new Set([credentials.password]);

  /** With a time-out of its own, because a caller that gives up must not fail the others. */
  async function start(): Promise<string> {
    try {
      const token = await logIn(url, credentials as LoginName, AbortSignal.timeout(requestDefaults.timeoutMs));
      if (token === null) throw refused();
      secrets.add(token);
      return token;
    } catch (error) {
      current = undefined;
      throw error;
    }
  }

  async function token(signal: AbortSignal): Promise<string> {
    if (signal.aborted) throw givenUp();
    current ??= start();
    return await untilAborted(current, signal);
  }

  return {
    get secrets() {
      return [...secrets];
    },
    token,
    async renew(old, signal) {
      const known = await token(signal);
      if (known !== old) return known;
      current = start();
      const fresh = await untilAborted(current, signal);
      return fresh === old ? null : fresh;
    },
  };
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
  const answer = Login.safeParse(body);
  if (answer.success) return answer.data.key;
  throw new AppError('invalid', 'Could not log in: the answer has no token');
}

function refused(): AppError {
  return new AppError('unauthenticated', 'Could not log in: doccano refuses the username or the password (400)', {
    status: 400,
  });
}

function givenUp(): AppError {
  return new AppError('unavailable', 'Could not log in: no answer in time');
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(givenUp());
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
