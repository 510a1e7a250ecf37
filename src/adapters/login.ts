import { AppError } from '../domain/errors.ts';
import type { RestToken } from '../lib/rest-client.ts';

export interface LoggedIn {
  token: string;
  /** By default until the tool refuses it. */
  validForMs?: number;
}

const timeoutMs = 15_000;

/**
 * A token that expires, kept in memory only. Simultaneous calls share one login, which has its own time-out, so that a
 * caller that gives up does not fail the others.
 */
export function createLogin(logIn: (signal: AbortSignal) => Promise<LoggedIn>): Exclude<RestToken, string> {
  let known: { token: string; staleAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    try {
      const { token, validForMs = Number.POSITIVE_INFINITY } = await logIn(AbortSignal.timeout(timeoutMs));
      known = { token, staleAt: performance.now() + validForMs };
      return token;
    } finally {
      pending = undefined;
    }
  }

  return async (signal, refused) => {
    if (signal.aborted) throw givenUp();
    if (known?.token === refused) known = undefined;
    if (known !== undefined && performance.now() < known.staleAt) return known.token;
    pending ??= renew();
    return await untilAborted(pending, signal);
  };
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
