import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import type { Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { isObject } from '../values.ts';
import {
  type ChangeAttempt,
  hasAddress,
  isActive,
  patchWith,
  pathOf,
  putWith,
  type Query,
  type Resource,
  type ResourceType,
  readDialect,
  type Scim,
  type ScimCall,
  scimGet,
  scimPost,
  textAt,
  toResource,
  tryChanges,
} from './scim-api.ts';

const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';

/** Each answer is checked, because servers that ignore filters return other accounts too. */

export interface Provided {
  user: Resource;
  account: 'made' | 'found';
}

export async function readUser(scim: Scim, id: string): Promise<Resource | null> {
  const call = { purpose: 'read the account', hidden: [id] };
  const user = toResource(await unless([404, 410], scimGet(scim, pathOf('Users', id), {}, call)));
  return user?.id === id ? user : null;
}

/** @throws AppError `invalid` if several accounts have the address */
export async function findByAddress(scim: Scim, email: string): Promise<Resource | null> {
  const call = { purpose: 'find the account', hidden: [email] };
  for (const [attribute, value] of waysToAsk(email)) {
    const filter = { attribute, value, isNeeded: attribute === 'userName' };
    const shown = await Array.fromAsync(search(scim, 'Users', filter, call));
    const found = pickAccount(shown, email);
    if (found !== null) return found;
    // The server did not filter, so these were all accounts.
    if (shown.length > 0) return null;
  }
  scim.server.isCaseSensitive ??= await tryCase(scim);
  return scim.server.isCaseSensitive ? pickAccount(await Array.fromAsync(listAll(scim, 'Users', call)), email) : null;
}

/** By id if that account has the person's address, else by address. */
export async function findUser(scim: Scim, { memberId, email }: Person): Promise<Resource | null> {
  const known = memberId === null ? null : await readUser(scim, memberId);
  const isTheirs = known !== null && hasAddress(known, email);
  return isTheirs ? known : await findByAddress(scim, email);
}

/** The RFC says that case does not matter, but on some servers it does. */
function waysToAsk(email: string): [attribute: string, value: string][] {
  const lower = email.toLowerCase();
  return [
    ['userName', lower],
    ...(lower === email ? [] : [['userName', email] as [string, string]]),
    ['emails.value', lower],
  ];
}

/** The account that signs in with the address, else the one that has it as an email. */
function pickAccount(shown: readonly Resource[], email: string): Resource | null {
  const alike = shown.filter((user) => hasAddress(user, email));
  const byName = alike.filter((user) => hasAddress({ ...user, emails: [] }, email));
  const candidates = new Map((byName.length > 0 ? byName : alike).map((user) => [user.id, user] as const));
  if (candidates.size > 1) throw new AppError('invalid', `${candidates.size} accounts of the tool have the address`);
  return [...candidates.values()][0] ?? null;
}

/**
 * Whether the server's filters are case-sensitive, against the RFC. Then a filter misses a person whose name is written
 * in another case, and Gangway would add them a second time. Asks for any account by its name with the case inverted.
 *
 * @returns undefined if no account has a name with letters
 */
async function tryCase(scim: Scim): Promise<boolean | undefined> {
  const call = { purpose: 'try a filter' };
  const anyUser = await firstUser(scim, {}, call);
  const userName = (anyUser && textAt(anyUser, 'userName')) ?? '';
  const inverted = [...userName].map(invertCase).join('');
  if (inverted === userName) return undefined;
  const filter = `userName eq ${JSON.stringify(inverted)}`;
  const found = await firstUser(scim, { filter }, { ...call, hidden: [userName, inverted] });
  return found?.id !== anyUser?.id;
}

async function firstUser(scim: Scim, filter: object, call: ScimCall): Promise<Resource | undefined> {
  const query = { ...filter, startIndex: 1, count: 1 };
  const answer = await unless([400, 404, 501], scimGet(scim, '/Users', query, call));
  const { Resources: users } = isObject(answer) ? answer : {};
  return Array.isArray(users) ? toResource(users[0]) : undefined;
}

function invertCase(letter: string): string {
  const lower = letter.toLowerCase();
  return letter === lower ? letter.toUpperCase() : lower;
}

/**
 * The person's active account: found, activated again, or created.
 *
 * @throws AppError `conflict` for an inactive account that Gangway did not make
 */
export async function provideUser(scim: Scim, person: Person): Promise<Provided> {
  const found = await findUser(scim, person);
  const { user, account } = found === null ? await createUser(scim, person) : toFound(found);
  if (isActive(user)) return { user, account };
  if (account === 'found' && person.isAccountOurs !== true) {
    throw new AppError(
      'conflict',
      'Their account is deactivated, and Gangway activates only accounts that it created: activate it in the tool if it is theirs',
    );
  }
  return { user: (await setActive(scim, user, true)) ?? user, account };
}

/** A missing account counts as deactivated. */
export async function deactivateUser(scim: Scim, id: string): Promise<void> {
  const user = await readUser(scim, id);
  if (user !== null && isActive(user)) await setActive(scim, user, false);
}

async function setActive(scim: Scim, user: Resource, active: boolean) {
  const verb = active ? 'activate' : 'deactivate';
  const { hasPatch } = await readDialect(scim);
  const call = { purpose: `${verb} the account` };
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
    read: () => readUser(scim, user.id),
    isDone: (current) => (current !== null && isActive(current)) === active,
  });
}

/** Tries again without the external id, because an account of another customer may have it. */
async function createUser(scim: Scim, person: Person): Promise<Provided> {
  const { externalId, ...anonymous } = toNewUser(person);
  for (const body of [{ ...anonymous, externalId }, anonymous]) {
    const created = await tryToCreate(scim, person, body);
    if (created !== null) return created;
  }
  const why = 'the tool says that the account exists, but does not show it';
  throw new AppError('conflict', `Could not create the account: ${why}`, { status: 409 });
}

/** Null if the tool reports a conflict with an account that has another address. */
async function tryToCreate(scim: Scim, { email }: Person, body: object): Promise<Provided | null> {
  const call = { purpose: 'create the account', hidden: [email] };
  const answer = await unless([409], scimPost(scim, '/Users', body, call));
  const created = toResource(answer);
  if (created !== undefined && hasAddress(created, email)) return { user: created, account: 'made' };
  const shown = await findByAddress(scim, email);
  if (shown !== null) return answer === null ? toFound(shown) : { user: shown, account: 'made' };
  if (answer === null) return null;
  throw new AppError('unavailable', 'The tool says it created the account but does not show it');
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
  const { pageSize: count } = await readDialect(scim);
  yield* readScimPages(call.purpose, (startIndex) => scimGet(scim, `/${type}`, { startIndex, count }, call));
}

/** Proves that the list can be read. */
export async function probe(scim: Scim, type: ResourceType, call: ScimCall): Promise<void> {
  const first = scimGet(scim, `/${type}`, { startIndex: 1, count: 1 }, call);
  await readScimPages(call.purpose, () => first).next();
}

/** The caller must check each resource, because a server that ignores filters returns everything. */
export async function* search(
  scim: Scim,
  type: ResourceType,
  { attribute, value, isNeeded, also }: Filter,
  call: ScimCall,
): AsyncGenerator<Resource> {
  const { hasFilter, pageSize: count } = await readDialect(scim);
  const filter = `${attribute} eq ${JSON.stringify(value)}`;
  const hiding = { ...call, hidden: [...(call.hidden ?? []), value] };
  const read = (startIndex: number) => scimGet(scim, `/${type}`, { filter, startIndex, count, ...also }, hiding);
  const first = hasFilter ? await toOutcome(read(1)) : 'refused';
  // A wrong URL would also answer 404, and must not look like a tool without members.
  if (first === 'none') return await probe(scim, type, call);
  if (first === 'refused') return yield* isNeeded ? listAll(scim, type, call) : [];
  yield* readScimPages(call.purpose, async (startIndex) => (startIndex === 1 ? first.page : await read(startIndex)));
}

/** Some servers answer 404 if nothing matches. */
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
 * Every page of a list. A server may return fewer resources than requested, and the first page again after the last.
 *
 * @throws AppError `invalid` for an answer that is not a list, for repeated pages, and for an endless list;
 * `unavailable` for a list that ends before its total
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
      throw new AppError('unavailable', `Could not ${purpose}: the list ended at ${gathered} of ${total}`);
    }
    if (beginnings.has(first.id)) {
      const why = 'a page begins like one before it, so the server may not know "startIndex"';
      throw new AppError('invalid', `Could not ${purpose}: ${why}`);
    }
    beginnings.add(first.id);
    yield* items;
    gathered += items.length;
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
    throw new AppError('invalid', `Could not ${purpose}: an entry of the list has no id`);
  });
  return { total: Number(total), items };
}
