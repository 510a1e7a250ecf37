import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import { statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Person } from '../adapter.ts';
import { type LoginName, logIn } from './doccano-api.ts';
import { type DoccanoSettings, User, Users } from './doccano-schema.ts';

/** The logins of doccano. It knows people only by username, which is their address here. */
export interface DoccanoAccounts {
  find(email: string, signal: AbortSignal): Promise<User | null>;
  /** @throws AppError `invalid` for an address or a password that doccano does not take */
  create(person: Person, signal: AbortSignal): Promise<DoccanoAccount>;
  /** The same for an account that was found: an earlier attempt may have made it, and its answer was lost. */
  recognise(person: Person, user: User, signal: AbortSignal): Promise<DoccanoAccount>;
}

export interface DoccanoAccount {
  user: User;
  /** Whether it was just made for this person, so that its password was not passed on yet. */
  isNew: boolean;
}

const usernamePattern = /^[\p{L}\p{N}_.@+-]{1,150}$/u;

export function createDoccanoAccounts({ url }: DoccanoSettings, api: RestClient): DoccanoAccounts {
  async function find(email: string, signal: AbortSignal): Promise<User | null> {
    const username = toUsername(email);
    // No account has a username that doccano does not accept.
    if (username === null) return null;
    const path = `/users?${new URLSearchParams({ q: username })}`;
    const request = { path, purpose: 'find the account', secrets: [username] };
    return pickUser(await api.call({ ...request, answer: Users, signal }), username);
  }

  /** The given password was generated for the person, so an account that it opens was made with it. */
  async function recognise(person: Person, user: User, signal: AbortSignal): Promise<DoccanoAccount> {
    const { memberId, newPassword: password } = person;
    if (memberId !== null || password === undefined) return { user, isNew: false };
    const isNew = (await logIn(url, { username: user.username, password }, signal)) !== null;
    return { user, isNew };
  }

  return {
    find,
    recognise,

    async create(person, signal) {
      const { username, password } = toCredentials(person);
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
        const user = await find(username, signal);
        if (user !== null) return await recognise(person, user, signal);
        throw refusedAccount();
      }
    },
  };
}

function toCredentials({ email, newPassword }: Person): LoginName {
  const username = toUsername(email);
  if (username === null) throw badUsername();
  if (newPassword === undefined) throw noPassword();
  return { username, password: newPassword };
}

function toUsername(email: string): string | null {
  const username = email.toLowerCase();
  return usernamePattern.test(username) ? username : null;
}

/** doccano searches by any part of a name, and two accounts may differ only in case. */
function pickUser(users: readonly User[], username: string): User | null {
  const alike = users.filter((user) => isSameAddress(user.username, username));
  return alike.find((user) => user.username === username) ?? alike[0] ?? null;
}

function badUsername(): AppError {
  return new AppError(
    'invalid',
    'The address cannot be a username of doccano: at most 150 letters, digits and @ . + - _',
  );
}

function noPassword(): AppError {
  return new AppError('invalid', 'They have no account yet, and no password was given for one');
}

function refusedAccount(): AppError {
  return new AppError(
    'invalid',
    'doccano refuses the new account (400): the password is too short, too common or too like the username, or the server has rules of its own',
    { status: 400 },
  );
}
