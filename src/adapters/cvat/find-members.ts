import { isSameAddress } from '../../lib/same-address.ts';
import type { Member, Person } from '../adapter.ts';
import { type CvatApi, isExactly } from './cvat-api.ts';
import { type Membership, Memberships, toOrganization, Users } from './cvat-schema.ts';

/**
 * Finds the members of an organization. CVAT shows no addresses. A person who was invited without an
 * account has their address as name until they register; all others are known by the id of their account,
 * which was in the answer to the invitation. Every user may take the address of another person as their
 * name at any time, so the name of a member who is in proves nothing.
 */
export interface CvatMembers {
  find(groupId: string, person: Person, signal: AbortSignal): Promise<CvatMember | null>;
  findById(groupId: string, member: Member, signal: AbortSignal): Promise<CvatMember | null>;
  /** Whether a member who is in has this address as their name. */
  isNameTaken(groupId: string, email: string, signal: AbortSignal): Promise<boolean>;
  list(groupId: string, signal: AbortSignal): AsyncIterable<CvatMember>;
}

/** A membership whose account still exists. */
export type CvatMember = Membership & { user: NonNullable<Membership['user']> };

interface Search {
  organization: string;
  /** The address looked for, which errors must not quote. */
  secrets: string[];
  signal: AbortSignal;
}

export function createCvatMembers(api: CvatApi): CvatMembers {
  async function* read(
    which: { search?: string; name?: string },
    { organization: org, secrets, signal }: Search,
  ): AsyncGenerator<CvatMember> {
    const { search, name } = which;
    const call = {
      path: '/api/memberships',
      purpose: 'list the members',
      secrets,
      signal,
      query: { org, ...(search !== undefined && { search }) },
      ...(name !== undefined && { filters: [isExactly('user', name)] }),
    };
    for await (const found of api.list(Memberships, call)) {
      const { user } = found;
      if (user !== null) yield { ...found, user };
    }
  }

  /** Memberships cannot be searched by the id of an account, only by its name, which can change. */
  async function findById(id: string, search: Search): Promise<CvatMember | null> {
    if (!/^\d{1,15}$/.test(id)) return null;
    const { organization: org, secrets, signal } = search;
    const call = {
      path: '/api/users',
      query: { org },
      filters: [isExactly('id', Number(id))],
      purpose: 'find the account',
      secrets,
      signal,
    };
    for await (const user of api.list(Users, call)) {
      const named = read({ name: user.username }, search);
      for await (const found of named) if (String(found.user.id) === id) return found;
    }
    return null;
  }

  /** `search` finds any part of a name in any case. An exact filter respects the case. */
  async function findByName(email: string, search: Search): Promise<CvatMember[]> {
    const named = await Array.fromAsync(read({ search: email.toLowerCase() }, search));
    return named.filter(({ user }) => isSameAddress(user.username, email));
  }

  return {
    async find(groupId, { memberId, email }, signal) {
      const search = { organization: toOrganization(groupId), secrets: [email], signal };
      const known = memberId === null ? null : await findById(memberId, search);
      if (known !== null) return known;
      const named = await findByName(email, search);
      return named.find(({ is_active }) => !is_active) ?? null;
    },

    async isNameTaken(groupId, email, signal) {
      const search = { organization: toOrganization(groupId), secrets: [email], signal };
      return (await findByName(email, search)).some(({ is_active }) => is_active);
    },

    findById: async (groupId, { id, email }, signal) =>
      await findById(id, { organization: toOrganization(groupId), signal, secrets: email === null ? [] : [email] }),

    async *list(groupId, signal) {
      yield* read({}, { organization: toOrganization(groupId), secrets: [], signal });
    },
  };
}

/** How much the clocks of CVAT and of this machine may differ. */
const clockMarginMs = 3_600_000;

/** Whether a member may have come in, or may still come in, by a call made at or after `since`. */
export function isNewcomer({ is_active, joined_date, role, invitation }: CvatMember, since: string): boolean {
  if (role === 'owner') return false;
  if (!is_active) return invitation !== null;
  const joinedMs = Date.parse(joined_date ?? '');
  return Number.isNaN(joinedMs) || joinedMs >= Date.parse(since) - clockMarginMs;
}

/** Only an invited person has their address as name. The name of a member who is in proves nothing. */
export function toMember({ user, is_active }: CvatMember): Member {
  const isAddress = user.username.includes('@');
  return {
    id: String(user.id),
    email: !is_active && isAddress ? user.username : null,
    name: user.username,
    ...(!is_active && { isInvited: true }),
  };
}
