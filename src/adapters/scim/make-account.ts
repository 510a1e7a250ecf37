import { AppError } from '../../domain/errors.ts';
import type { Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import type { UserFinder } from './find-users.ts';
import { hasAddress, type Resource, toResource, userSchema } from './resource.ts';
import type { ScimApi } from './scim-api.ts';

/** Makes accounts, each with the address of its person. */

export interface Provided {
  user: Resource;
  account: 'made' | 'found';
}

export function createAccountMaker(
  api: ScimApi,
  byAddress: UserFinder['byAddress'],
): (person: Person, signal: AbortSignal) => Promise<Provided> {
  /** Another account may have the external id already, for example from another customer. */
  async function create(person: Person, signal: AbortSignal): Promise<Provided> {
    for (const body of [toNewUser(person), withoutExternalId(toNewUser(person))]) {
      const created = await tryToCreate(person, body, signal);
      if (created !== null) return created;
    }
    const why = 'an account is in the way, and the tool does not show it';
    throw new AppError('conflict', `Could not create the account: ${why}`, { status: 409 });
  }

  /** Null if an account with another address is in the way. */
  async function tryToCreate({ email }: Person, body: object, signal: AbortSignal): Promise<Provided | null> {
    const call = { purpose: 'create the account', hidden: [email], signal };
    const answer = await unless([409], api.post('/Users', body, call));
    const created = toResource(answer);
    if (created !== undefined && hasAddress(created, email)) return made(created);
    const shown = await byAddress(email, signal);
    if (shown !== null) return answer === null ? found(shown) : made(shown);
    if (answer === null) return null;
    throw new AppError('unavailable', 'The tool says it made the account but does not show it');
  }

  return create;
}

function made(user: Resource): Provided {
  return { user, account: 'made' };
}

export function found(user: Resource): Provided {
  return { user, account: 'found' };
}

function withoutExternalId({ externalId: _, ...user }: NewUser): object {
  return user;
}

type NewUser = Record<string, unknown> & { externalId: string };

function toNewUser({ trainerId, email, displayName }: Person): NewUser {
  const address = email.toLowerCase();
  const name = displayName?.trim() || trainerId;
  const [givenName = name, ...others] = name.split(/\s+/);
  return {
    schemas: [userSchema],
    userName: address,
    externalId: trainerId,
    // Many servers refuse an account without both.
    name: { givenName, familyName: others.join(' ') || givenName },
    displayName: name,
    emails: [{ value: address, type: 'work', primary: true }],
    active: true,
  };
}
