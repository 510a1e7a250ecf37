interface Account {
  id: string;
  email: string;
  name: string;
  isActive: boolean;
}

interface Answer {
  status: number;
  body?: unknown;
}

export interface Asked {
  method: string;
  /** Decoded, dots resolved: as by a proxy before the tool. */
  parts: string[];
  email: string | null;
  body: { email?: string; name?: string };
}

/** Accounts and groups of them, and the rules of a tool that keeps them. */
export function createAccountState() {
  const accounts = new Map<string, Account>();
  const groups = new Map<string, Set<string>>();
  let lastId = 0;

  const membersOf = (name: string): Set<string> => {
    const group = groups.get(name) ?? new Set<string>();
    groups.set(name, group);
    return group;
  };
  const byAddress = (email = '') =>
    [...accounts.values()].find((one) => one.email.toLowerCase() === email.toLowerCase());
  const show = (found: (Account | undefined)[]): Answer => ({
    status: 200,
    body: { data: found.filter((one) => one !== undefined) },
  });

  const showOne = (data: Account | undefined): Answer =>
    data === undefined ? { status: 404 } : { status: 200, body: { data } };

  function make(account: Omit<Account, 'id'>): Account {
    const made = { ...account, id: String(++lastId) };
    accounts.set(made.id, made);
    return made;
  }

  function join(members: Set<string>, { email = '', name = '' }: Asked['body']): Answer {
    const account = byAddress(email) ?? make({ email, name, isActive: true });
    if (members.has(account.id)) return { status: 409 };
    members.add(account.id);
    return { status: 201, body: { data: account } };
  }

  function answerGroup({ method, email, body }: Asked, group: string, id = ''): Answer {
    const members = membersOf(group);
    if (method === 'POST') return join(members, body);
    if (method === 'DELETE') return { status: members.delete(id) ? 204 : 404 };
    if (id !== '') return showOne(members.has(id) ? accounts.get(id) : undefined);
    const found = [...members].map((one) => accounts.get(one));
    return show(found.filter((one) => email === null || one === byAddress(email)));
  }

  function answerUser({ method, email, body }: Asked, id: string): Answer {
    if (id === '') return show([byAddress(email ?? '')]);
    const account = accounts.get(id);
    if (account === undefined) return { status: 404 };
    if (method === 'DELETE') return drop(id);
    const holder = byAddress(body.email);
    if (holder !== undefined && holder !== account) return { status: 409 };
    accounts.set(id, { ...account, ...body });
    return { status: 200 };
  }

  function drop(id: string): Answer {
    accounts.delete(id);
    for (const members of groups.values()) members.delete(id);
    return { status: 204 };
  }

  return {
    answer(asked: Asked): Answer {
      const [area, first = '', what, id] = asked.parts;
      if (area === 'me') return { status: 200, body: {} };
      if (area === 'users') return answerUser(asked, first);
      const isGroup = area === 'groups' && what === 'members' && asked.parts.length <= 4;
      return isGroup ? answerGroup(asked, first, id) : { status: 404 };
    },
  };
}
