import { AppError } from '../../domain/errors.ts';
import { type RestClient, statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Person } from '../adapter.ts';
import { logIn } from './doccano-api.ts';
import { User, Users } from './doccano-schema.ts';

/** The logins of doccano. It knows people only by username, which is their address here. */

export interface DoccanoAccount {
  user: User;
  /** Whether it was just made for this person, so that its password was not passed on yet. */
  isNew: boolean;
}

export async function findAccount(api: RestClient, email: string, signal: AbortSignal): Promise<User | null> {
  const username = toUsername(email);
  // No account has a username that doccano does not accept.
  if (username === null) return null;
  const path = `/users?${new URLSearchParams({ q: username })}`;
  const request = { path, purpose: 'find the account', secrets: [username] };
  const users = await api.call({ ...request, answer: Users, signal });
  // doccano searches by any part of a name, and two accounts may differ only in case.
  const alike = users.filter((user) => isSameAddress(user.username, username));
  return alike.find((user) => user.username === username) ?? alike[0] ?? null;
}

/** @throws AppError `invalid` for an address or a password that doccano does not take */
export async function createAccount(api: RestClient, person: Person, signal: AbortSignal): Promise<DoccanoAccount> {
  const { email, newPassword: password } = person;
  const username = toUsername(email);
  if (username === null) {
    const rule = 'at most 150 letters, digits and @ . + - _';
    throw new AppError('invalid', `The address cannot be a username of doccano: ${rule}`);
  }
  if (password === undefined) {
    throw new AppError('invalid', 'They have no account yet, and no password was given for one');
  }
  const request = {
    ...({ method: 'POST', path: '/users/create', purpose: 'create the account' } as const),
    body: { username, password1: password, password2: password },
    secrets: [username, password],
  };
  try {
    return { user: await api.call({ ...request, answer: User, signal }), isNew: true };
  } catch (error) {
    if (statusOf(error) !== 400) throw error;
    // Another call may have made it first.
    const user = await findAccount(api, username, signal);
    if (user !== null) return await recogniseAccount(api, person, user, signal);
    throw new AppError(
      'invalid',
      'doccano refuses the new account (400): the password is too short, too common or too like the username, or the server has rules of its own',
      { status: 400 },
    );
  }
}

/**
 * An account that was found may have been made by an earlier attempt, whose answer was lost. The given password was
 * generated for the person, so an account that it opens was made with it.
 */
export async function recogniseAccount(
  api: RestClient,
  { memberId, newPassword: password }: Person,
  user: User,
  signal: AbortSignal,
): Promise<DoccanoAccount> {
  if (memberId !== null || password === undefined) return { user, isNew: false };
  return { user, isNew: (await logIn(api, { username: user.username, password }, signal)) !== null };
}

function toUsername(email: string): string | null {
  const username = email.toLowerCase();
  return /^[\p{L}\p{N}_.@+-]{1,150}$/u.test(username) ? username : null;
}
