import { AppError } from '../../domain/errors.ts';
import { unless } from '../tool-request.ts';
import { hasAddress, isObject, type Resource, textAt, toResource } from './resource.ts';
import { pathOf, type ScimApi, type ScimCall } from './scim-api.ts';
import type { Search } from './search.ts';

/** Finds accounts. Each answer is checked, because servers may return other accounts. */
export interface UserFinder {
  byId(id: string, signal: AbortSignal): Promise<Resource | null>;
  /** @throws AppError `invalid` if several accounts have the address */
  byAddress(email: string, signal: AbortSignal): Promise<Resource | null>;
}

export function createUserFinder(api: ScimApi, search: Search): UserFinder {
  const mindsCase = createCaseProbe(api);

  return {
    async byId(id, signal) {
      const call = { purpose: 'read the account', hidden: [id], signal };
      const user = toResource(await unless([404, 410], api.get(pathOf('Users', id), {}, call)));
      return user?.id === id ? user : null;
    },

    async byAddress(email, signal) {
      const call = { purpose: 'find the account', hidden: [email], signal };
      for (const [attribute, value] of waysToAsk(email)) {
        const filter = { attribute, value, isNeeded: attribute === 'userName' };
        const shown = await Array.fromAsync(search.by('Users', filter, call));
        const found = pickAccount(shown, email);
        if (found !== null) return found;
        // Other accounts were returned, so the server did not filter, and these were all accounts.
        if (shown.length > 0) return null;
      }
      if (!(await mindsCase(signal))) return null;
      return pickAccount(await Array.fromAsync(search.all('Users', call)), email);
    },
  };
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
 * whose name has another case is not found, and would be added a second time.
 */
function createCaseProbe(api: ScimApi): (signal: AbortSignal) => Promise<boolean> {
  let known: boolean | undefined;

  async function firstUser(filter: object, call: ScimCall): Promise<Resource | undefined> {
    const query = { ...filter, startIndex: 1, count: 1 };
    const answer = await unless([400, 404, 501], api.get('/Users', query, call));
    const { Resources: users } = isObject(answer) ? answer : {};
    return Array.isArray(users) ? toResource(users[0]) : undefined;
  }

  /** Asks for any account by its name with the case inverted. */
  return async (signal) => {
    if (known !== undefined) return known;
    const call = { purpose: 'try a filter', signal };
    const anyUser = await firstUser({}, call);
    const userName = (anyUser && textAt(anyUser, 'userName')) ?? '';
    const turned = [...userName].map(turn).join('');
    if (turned === userName) return false;
    const filter = `userName eq ${JSON.stringify(turned)}`;
    const found = await firstUser({ filter }, { ...call, hidden: [userName, turned] });
    known = found?.id !== anyUser?.id;
    return known;
  };
}

function turn(letter: string): string {
  const lower = letter.toLowerCase();
  return letter === lower ? letter.toUpperCase() : lower;
}
