import { AppError } from '../../domain/errors.ts';
import type { Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { isObject } from '../values.ts';
import { hasAddress, isActive, type Resource, textAt, toResource, userSchema } from './resource.ts';
import {
  type ChangeAttempt,
  patchWith,
  pathOf,
  putWith,
  readDialect,
  type Scim,
  type ScimCall,
  scimGet,
  scimPost,
  tryChanges,
} from './scim-api.ts';
import { listAll, search } from './search.ts';

/**
 * Finds accounts, makes them, and activates or deactivates them. Each answer is checked, because servers may return
 * other accounts.
 */

export interface Provided {
  user: Resource;
  account: 'made' | 'found';
}

export async function readUser(scim: Scim, id: string, signal: AbortSignal): Promise<Resource | null> {
  const call = { purpose: 'read the account', hidden: [id], signal };
  const user = toResource(await unless([404, 410], scimGet(scim, pathOf('Users', id), {}, call)));
  return user?.id === id ? user : null;
}

/** @throws AppError `invalid` if several accounts have the address */
export async function findByAddress(scim: Scim, email: string, signal: AbortSignal): Promise<Resource | null> {
  const call = { purpose: 'find the account', hidden: [email], signal };
  for (const [attribute, value] of waysToAsk(email)) {
    const filter = { attribute, value, isNeeded: attribute === 'userName' };
    const shown = await Array.fromAsync(search(scim, 'Users', filter, call));
    const found = pickAccount(shown, email);
    if (found !== null) return found;
    // Other accounts were returned, so the server did not filter, and these were all accounts.
    if (shown.length > 0) return null;
  }
  scim.mindsCase ??= await tryCase(scim, signal);
  return scim.mindsCase ? pickAccount(await Array.fromAsync(listAll(scim, 'Users', call)), email) : null;
}

/** Found by id only if the account has their address; else found by address. */
export async function findUser(scim: Scim, { memberId, email }: Person, signal: AbortSignal): Promise<Resource | null> {
  const known = memberId === null ? null : await readUser(scim, memberId, signal);
  const isTheirs = known !== null && hasAddress(known, email);
  return isTheirs ? known : await findByAddress(scim, email, signal);
}

/** By the RFC case does not matter, but on some servers it does. */
function waysToAsk(email: string): [attribute: string, value: string][] {
  const lower = email.toLowerCase();
  return [
    ['userName', lower],
    ...(lower === email ? [] : [['userName', email] as [string, string]]),
    ['emails.value', lower],
  ];
}

/** The account that signs in with the address, else the one that has it. */
function pickAccount(shown: readonly Resource[], email: string): Resource | null {
  const alike = shown.filter((user) => hasAddress(user, email));
  const byName = alike.filter((user) => hasAddress({ ...user, emails: [] }, email));
  const candidates = new Map((byName.length > 0 ? byName : alike).map((user) => [user.id, user] as const));
  if (candidates.size > 1) {
    throw new AppError('invalid', `The address is that of ${candidates.size} accounts of the tool`);
  }
  return [...candidates.values()][0] ?? null;
}

/**
 * Whether the server's filters respect the case of a name. By the RFC they do not. If they do, a person
 * whose name has another case is not found, and would be added a second time. Asks for any account by its name with
 * the case inverted.
 *
 * @returns undefined if no account has a name with letters
 */
async function tryCase(scim: Scim, signal: AbortSignal): Promise<boolean | undefined> {
  const call = { purpose: 'try a filter', signal };
  const anyUser = await firstUser(scim, {}, call);
  const userName = (anyUser && textAt(anyUser, 'userName')) ?? '';
  const turned = [...userName].map(turn).join('');
  if (turned === userName) return undefined;
  const filter = `userName eq ${JSON.stringify(turned)}`;
  const found = await firstUser(scim, { filter }, { ...call, hidden: [userName, turned] });
  return found?.id !== anyUser?.id;
}

async function firstUser(scim: Scim, filter: object, call: ScimCall): Promise<Resource | undefined> {
  const query = { ...filter, startIndex: 1, count: 1 };
  const answer = await unless([400, 404, 501], scimGet(scim, '/Users', query, call));
  const { Resources: users } = isObject(answer) ? answer : {};
  return Array.isArray(users) ? toResource(users[0]) : undefined;
}

function turn(letter: string): string {
  const lower = letter.toLowerCase();
  return letter === lower ? letter.toUpperCase() : lower;
}

/**
 * The active account of a person: found, activated again, or made.
 *
 * @throws AppError `conflict` for an inactive account that Gangway did not make
 */
export async function provideUser(scim: Scim, person: Person, signal: AbortSignal): Promise<Provided> {
  const found = await findUser(scim, person, signal);
  const { user, account } = found === null ? await createUser(scim, person, signal) : toFound(found);
  if (isActive(user)) return { user, account };
  if (account === 'found' && person.isAccountOurs !== true) {
    throw new AppError(
      'conflict',
      'Their account is deactivated, and Gangway may not have made it, so it does not activate it: activate it in the tool if it is theirs',
    );
  }
  return { user: (await setActive(scim, user, true, signal)) ?? user, account };
}

/** A missing account is not active. */
export async function deactivateUser(scim: Scim, id: string, signal: AbortSignal): Promise<void> {
  const user = await readUser(scim, id, signal);
  if (user !== null && isActive(user)) await setActive(scim, user, false, signal);
}

async function setActive(scim: Scim, user: Resource, active: boolean, signal: AbortSignal) {
  const verb = active ? 'activate' : 'deactivate';
  const { hasPatch } = await readDialect(scim, signal);
  const call = { purpose: `${verb} the account`, signal };
  const patch = (operation: object) => patchWith(scim, 'Users', operation, call);
  const put = putWith(scim, 'Users', (resource) => ({ ...resource, active }), call);
  // As in the RFC; as Okta does it; the whole user; and as Entra did before it followed the RFC.
  const attempts: ChangeAttempt[] = [
    patch({ op: 'replace', path: 'active', value: active }),
    patch({ op: 'replace', value: { active } }),
    put,
    patch({ op: 'Replace', path: 'active', value: active ? 'True' : 'False' }),
  ];
  return await tryChanges(user, {
    did: `${verb}d the account`,
    attempts: hasPatch ? attempts : [put],
    read: () => readUser(scim, user.id, signal),
    isDone: (current) => (current !== null && isActive(current)) === active,
  });
}

/** Makes an account. Another one may have the external id already, for example from another customer. */
async function createUser(scim: Scim, person: Person, signal: AbortSignal): Promise<Provided> {
  const { externalId, ...anonymous } = toNewUser(person);
  for (const body of [{ ...anonymous, externalId }, anonymous]) {
    const created = await tryToCreate(scim, person, body, signal);
    if (created !== null) return created;
  }
  const why = 'an account is in the way, and the tool does not show it';
  throw new AppError('conflict', `Could not create the account: ${why}`, { status: 409 });
}

/** Null if an account with another address is in the way. */
async function tryToCreate(scim: Scim, { email }: Person, body: object, signal: AbortSignal): Promise<Provided | null> {
  const call = { purpose: 'create the account', hidden: [email], signal };
  const answer = await unless([409], scimPost(scim, '/Users', body, call));
  const created = toResource(answer);
  if (created !== undefined && hasAddress(created, email)) return { user: created, account: 'made' };
  const shown = await findByAddress(scim, email, signal);
  if (shown !== null) return answer === null ? toFound(shown) : { user: shown, account: 'made' };
  if (answer === null) return null;
  throw new AppError('unavailable', 'The tool says it made the account but does not show it');
}

function toFound(user: Resource): Provided {
  return { user, account: 'found' };
}

function toNewUser({ trainerId, email, displayName }: Person) {
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
