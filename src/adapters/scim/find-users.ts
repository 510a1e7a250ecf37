import { AppError } from '../../domain/errors.ts';
import { createCaseProbe } from './case-probe.ts';
import { hasAddress, type Resource, toResource } from './resource.ts';
import { pathOf, type ScimApi, unless } from './scim-api.ts';
import type { Search } from './search.ts';

/** Finding accounts, none of which is believed to be the one that was asked for. */
export interface UserFinder {
  byId(id: string, signal: AbortSignal): Promise<Resource | null>;
  /** @throws AppError `invalid` where several accounts have the address */
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
        // Strangers were shown, so nothing was filtered, and this was everybody.
        if (shown.length > 0) return null;
      }
      if (!(await mindsCase(signal))) return null;
      return pickAccount(await Array.fromAsync(search.all('Users', call)), email);
    },
  };
}

/** Case does not matter by the RFC, and does at some servers. */
function waysToAsk(email: string): [attribute: string, value: string][] {
  const lower = email.toLowerCase();
  return [
    ['userName', lower],
    ...(lower === email ? [] : [['userName', email] as [string, string]]),
    ['emails.value', lower],
  ];
}

/** Whoever signs in with the address, else whoever has it. */
function pickAccount(shown: readonly Resource[], email: string): Resource | null {
  const alike = shown.filter((user) => hasAddress(user, email));
  const byName = alike.filter((user) => hasAddress({ ...user, emails: [] }, email));
  const candidates = new Map((byName.length > 0 ? byName : alike).map((user) => [user.id, user] as const));
  if (candidates.size > 1) {
    throw new AppError('invalid', `The address is that of ${candidates.size} accounts of the tool`);
  }
  return [...candidates.values()][0] ?? null;
}
