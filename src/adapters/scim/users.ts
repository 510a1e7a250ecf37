import { AppError } from '../../domain/errors.ts';
import type { Person } from '../adapter.ts';
import type { Discovery } from './discovery.ts';
import { createUserFinder, type UserFinder } from './find-users.ts';
import { createAccountMaker, found, type Provided } from './make-account.ts';
import { hasAddress, isActive, type Resource } from './resource.ts';
import { type ScimApi, type ScimCall, toPatch } from './scim-api.ts';
import type { Search } from './search.ts';
import { type ChangeAttempt, tryChanges } from './try-changes.ts';

/** Finds accounts, makes them, and activates or deactivates them. */
export interface Users extends Pick<UserFinder, 'byId' | 'byAddress'> {
  all(signal: AbortSignal): AsyncGenerator<Resource>;
  /** Found by id only if the account has their address; else found by address. */
  find(person: Person, signal: AbortSignal): Promise<Resource | null>;
  /**
   * The active account of a person: found, activated again, or made.
   *
   * @throws AppError `conflict` for an inactive account that Gangway did not make
   */
  provide(person: Person, signal: AbortSignal): Promise<Provided>;
  /** A missing account is not active. */
  deactivate(id: string, signal: AbortSignal): Promise<void>;
}

export function createUsers(api: ScimApi, search: Search, discovery: Discovery): Users {
  const { byId, byAddress } = createUserFinder(api, search);

  const create = createAccountMaker(api, byAddress);

  async function setActive(user: Resource, active: boolean, signal: AbortSignal) {
    const [purpose, did] = active
      ? ['activate the account', 'activated the account']
      : ['deactivate the account', 'deactivated the account'];
    const { hasPatch } = await discovery.read(signal);
    return await tryChanges(user, {
      did,
      attempts: activeSteps(api, active, hasPatch, { purpose, signal }),
      read: () => byId(user.id, signal),
      isDone: (current) => (current !== null && isActive(current)) === active,
    });
  }

  async function find({ memberId, email }: Person, signal: AbortSignal): Promise<Resource | null> {
    const known = memberId === null ? null : await byId(memberId, signal);
    const isTheirs = known !== null && hasAddress(known, email);
    return isTheirs ? known : await byAddress(email, signal);
  }

  return {
    byId,
    byAddress,
    all: (signal) => search.all('Users', { purpose: 'list the accounts', signal }),

    find,

    async provide(person, signal) {
      const user = await find(person, signal);
      const provided = user === null ? await create(person, signal) : found(user);
      if (isActive(provided.user)) return provided;
      if (provided.account === 'found' && person.isAccountOurs !== true) throw notActive();
      const active = await setActive(provided.user, true, signal);
      return { ...provided, user: active ?? provided.user };
    },

    async deactivate(id, signal) {
      const user = await byId(id, signal);
      if (user !== null && isActive(user)) await setActive(user, false, signal);
    },
  };
}

/** As in the RFC; as Okta does it; the whole user; and as Entra did before it followed the RFC. */
function activeSteps(api: ScimApi, active: boolean, hasPatch: boolean, call: ScimCall): ChangeAttempt[] {
  const patch = (operation: object): ChangeAttempt => ({
    send: (resource) => api.change('PATCH', { type: 'Users', resource }, toPatch(operation), call),
  });
  const put: ChangeAttempt = {
    send: (resource) => api.change('PUT', { type: 'Users', resource }, { ...resource, active }, call),
  };
  if (!hasPatch) return [put];
  return [
    patch({ op: 'replace', path: 'active', value: active }),
    patch({ op: 'replace', value: { active } }),
    put,
    patch({ op: 'Replace', path: 'active', value: active ? 'True' : 'False' }),
  ];
}

function notActive(): AppError {
  return new AppError(
    'conflict',
    'Their account is deactivated, and is not known to be made by Gangway, so it is not activated: activate it in the tool if it is theirs',
  );
}
