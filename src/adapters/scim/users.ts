import { AppError } from '../../domain/errors.ts';
import type { Person } from '../adapter.ts';
import { activeSteps } from './active-steps.ts';
import { climb } from './climb.ts';
import type { Discovery } from './discovery.ts';
import { createUserFinder, type UserFinder } from './find-users.ts';
import { hasAddress, isActive, type Resource, toResource, userSchema } from './resource.ts';
import { type ScimApi, unless } from './scim-api.ts';
import type { Search } from './search.ts';

/** Accounts: found, made, and made active or not. */
export interface Users extends Pick<UserFinder, 'byId' | 'byAddress'> {
  all(signal: AbortSignal): AsyncGenerator<Resource>;
  /** The account of a person, active: found, made active again, or made. */
  provide(person: Person, signal: AbortSignal): Promise<Resource>;
  /** An account that is not there is none that is active. */
  deactivate(id: string, signal: AbortSignal): Promise<void>;
}

export function createUsers(api: ScimApi, search: Search, discovery: Discovery): Users {
  const { byId, byAddress, byExternalId } = createUserFinder(api, search);

  async function create(person: Person, signal: AbortSignal): Promise<Resource> {
    const call = { purpose: 'create the account', hidden: [person.email], signal };
    const answer = await unless([409], api.post('/Users', toNewUser(person), call));
    const created = toResource(answer);
    if (created !== undefined && hasAddress(created, person.email)) return created;
    const found = await byAddress(person.email, signal);
    if (found !== null) return found;
    if (answer !== null) {
      throw new AppError('unavailable', 'The tool says it made the account but does not show it');
    }
    const former = await byExternalId(person, signal);
    if (former !== null) return former;
    const why = 'an account is in the way, and the tool does not show it';
    throw new AppError('conflict', `Could not create the account: ${why}`, { status: 409 });
  }

  async function setActive(user: Resource, active: boolean, signal: AbortSignal) {
    const [purpose, did] = active
      ? ['activate the account', 'activated the account']
      : ['deactivate the account', 'deactivated the account'];
    const { hasPatch } = await discovery.read(signal);
    return await climb(user, {
      ...{ did, steps: activeSteps(api, active, hasPatch, { purpose, signal }) },
      read: () => byId(user.id, signal),
      isDone: (current) => (current !== null && isActive(current)) === active,
    });
  }

  return {
    byId,
    byAddress,
    all: (signal) => search.all('Users', { purpose: 'list the accounts', signal }),

    async provide(person, signal) {
      const { memberId, email } = person;
      const known = memberId === null ? null : await byId(memberId, signal);
      const isTheirs = known !== null && hasAddress(known, email);
      const user = isTheirs ? known : await byAddress(email, signal);
      const account = user ?? (await create(person, signal));
      return isActive(account) ? account : ((await setActive(account, true, signal)) ?? account);
    },

    async deactivate(id, signal) {
      const user = await byId(id, signal);
      if (user !== null && isActive(user)) await setActive(user, false, signal);
    },
  };
}

function toNewUser({ trainerId, email, displayName }: Person): object {
  const address = email.toLowerCase();
  const name = displayName?.trim() || trainerId;
  const [givenName = name, ...others] = name.split(/\s+/);
  return {
    schemas: [userSchema],
    userName: address,
    externalId: trainerId,
    // Many refuse an account without both.
    name: { givenName, familyName: others.join(' ') || givenName },
    displayName: name,
    emails: [{ value: address, type: 'work', primary: true }],
    active: true,
  };
}
