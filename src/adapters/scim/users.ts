import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import type { Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { isObject } from '../values.ts';
import { hasAddress, isActive, type Resource, textAt, toResource, userSchema } from './resource.ts';
import {
  type ChangeAttempt,
  patchWith,
  pathOf,
  putWith,
  type Query,
  type ResourceType,
  readDialect,
  type Scim,
  type ScimCall,
  scimGet,
  scimPost,
  tryChanges,
} from './scim-api.ts';

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

/** Searches users and groups on servers that filter, that refuse filters, or that ignore them. */

interface Filter {
  attribute: string;
  value: string;
  /** Whether to read everything if the server does not know this filter. */
  isNeeded: boolean;
  /** Further parameters of the query. */
  also?: Query;
}

/** All resources, page by page. */
export async function* listAll(scim: Scim, type: ResourceType, call: ScimCall): AsyncGenerator<Resource> {
  const { pageSize: count } = await readDialect(scim, call.signal);
  yield* readScimPages(call.purpose, (startIndex) => scimGet(scim, `/${type}`, { startIndex, count }, call));
}

/** Proves that the list can be read. */
export async function probe(scim: Scim, type: ResourceType, call: ScimCall): Promise<void> {
  const first = scimGet(scim, `/${type}`, { startIndex: 1, count: 1 }, call);
  await readScimPages(call.purpose, () => first).next();
}

/**
 * The resources with a value, and maybe others: a server that ignores filters returns everything. The
 * caller must check each.
 */
export async function* search(
  scim: Scim,
  type: ResourceType,
  { attribute, value, isNeeded, also }: Filter,
  call: ScimCall,
): AsyncGenerator<Resource> {
  const { hasFilter, pageSize: count } = await readDialect(scim, call.signal);
  const filter = `${attribute} eq ${JSON.stringify(value)}`;
  const hiding = { ...call, hidden: [...(call.hidden ?? []), value] };
  const read = (startIndex: number) => scimGet(scim, `/${type}`, { filter, startIndex, count, ...also }, hiding);
  const first = hasFilter ? await toOutcome(read(1)) : 'refused';
  // A wrong address would answer the same, and must not look like a tool without members.
  if (first === 'none') return await probe(scim, type, call);
  if (first === 'refused') return yield* isNeeded ? listAll(scim, type, call) : [];
  yield* readScimPages(call.purpose, async (startIndex) => (startIndex === 1 ? first.page : await read(startIndex)));
}

/** Some servers answer 404 if they find nothing. */
async function toOutcome(first: Promise<unknown>): Promise<{ page: unknown } | 'none' | 'refused'> {
  try {
    return { page: await first };
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return 'none';
    if (status === 400 || status === 501) return 'refused';
    throw error;
  }
}

const maxPages = 10_000;

/**
 * Every page of a list, from `startIndex` 1. A server may return fewer than requested, and may return
 * the first page again after the end.
 *
 * @throws AppError `invalid` for an answer that is not a list, for repeated pages, and for a list without an
 * end; `unavailable` for a list that ends before its total
 */
export async function* readScimPages(
  purpose: string,
  readPage: (startIndex: number) => Promise<unknown>,
): AsyncGenerator<Resource> {
  const beginnings = new Set<string>();
  let gathered = 0;
  for (let page = 0; page < maxPages; page += 1) {
    const { total, items } = toPage(await readPage(gathered + 1), purpose);
    const [first] = items;
    if (first === undefined) {
      if (gathered >= total) return;
      const where = `it ended at ${gathered} of ${total}`;
      throw new AppError('unavailable', `Could not ${purpose}: ${where}`);
    }
    if (beginnings.has(first.id)) {
      const why = 'a page begins like one before it, so the server may not know "startIndex"';
      throw new AppError('invalid', `Could not ${purpose}: ${why}`);
    }
    beginnings.add(first.id);
    yield* items;
    gathered += items.length;
    // After the last page, some servers begin again.
    if (gathered >= total) return;
  }
  throw new AppError('invalid', `Could not ${purpose}: over ${maxPages} pages`);
}

/** `Resources` may be missing if there are none. */
function toPage(answer: unknown, purpose: string): { total: number; items: Resource[] } {
  const { totalResults, Resources = [] } = isObject(answer) ? answer : {};
  const total = typeof totalResults === 'string' ? Number(totalResults) : totalResults;
  if (!Number.isSafeInteger(total) || !Array.isArray(Resources)) {
    throw new AppError('invalid', `Could not ${purpose}: the answer is not a SCIM list`);
  }
  const items = Resources.map((item) => {
    const resource = toResource(item);
    if (resource !== undefined) return resource;
    throw new AppError('invalid', `Could not ${purpose}: one in the list has no id`);
  });
  return { total: Number(total), items };
}
