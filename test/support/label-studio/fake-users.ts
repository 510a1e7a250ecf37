import { randomBytes } from 'node:crypto';

export interface FakeUser {
  id: number;
  email: string;
  username: string;
  password: string | null;
  legacyToken: string;
  /** Whether their membership was ended. */
  isDeleted: boolean;
  activeOrganization: number | null;
  joinedAt: string;
}

/** The users of a Label Studio with one organization, as its tables have them. */
export function createFakeUsers(owner: { email: string; password: string; legacyToken: string }, now: () => Date) {
  const users = new Map<number, FakeUser>();
  let lastId = 0;
  let inviteToken = toToken();

  function add(email: string, password: string | null, legacyToken = toToken()): FakeUser {
    const id = ++lastId;
    const [username = ''] = email.split('@');
    const activeOrganization = password === null ? null : 1;
    const user = { id, email, username, password, legacyToken, activeOrganization };
    const added: FakeUser = { ...user, isDeleted: false, joinedAt: now().toISOString() };
    users.set(id, added);
    return added;
  }

  const { id: ownerId } = add(owner.email, owner.password, owner.legacyToken);

  return {
    ownerId,
    add,
    get: (id: number) => users.get(id),
    all: () => [...users.values()],
    /** Letter by letter, as the column is unique. */
    byEmail: (email: string) => [...users.values()].find((user) => user.email === email),
    byLegacyToken: (token: string) => [...users.values()].find((user) => user.legacyToken === token),
    delete: (id: number) => users.delete(id),
    /** The id goes to a user who signs up after an older backup was restored. */
    giveOut(id: number, email: string) {
      users.delete(id);
      const after = lastId;
      lastId = id - 1;
      add(email, toToken());
      lastId = after;
    },
    endMembership(user: FakeUser) {
      user.isDeleted = true;
      user.activeOrganization = null;
    },
    inviteToken: () => inviteToken,
    resetInviteToken() {
      inviteToken = toToken();
    },
  };
}

export type FakeUsers = ReturnType<typeof createFakeUsers>;

/** As the API shows them: removed users are listed, and masked. */
export function showUser(user: FakeUser): Record<string, unknown> {
  const { id, isDeleted } = user;
  return {
    id,
    first_name: isDeleted ? 'Deleted' : '',
    last_name: isDeleted ? 'User' : '',
    username: isDeleted ? 'Deleted' : user.username,
    email: isDeleted ? 'Deleted' : user.email,
    avatar: null,
    initials: isDeleted ? 'DU' : user.email.slice(0, 2),
    phone: '',
    active_organization: user.activeOrganization,
    // With microseconds, as Django writes it.
    date_joined: user.joinedAt.replace('Z', '000Z'),
  };
}

function toToken(): string {
  return randomBytes(20).toString('hex');
}
