/**
 * The rules of CVAT 2.54 to 2.73 as far as members, assignments and events go. Not a line of it is
 * CVAT's: it follows what its servers of 2.54.0 and 2.73.0 were seen to do.
 */

export interface CvatOptions {
  /** Whether the server can send mail. */
  hasMail?: boolean;
  /** The name of the account that a user with this address already has. */
  nameOf?: (email: string) => string | undefined;
  /** Whether people have to accept an invitation though they have an account. */
  mustConfirm?: boolean;
  /** What the account of the token is in every organization. */
  ownRole?: string;
  hasAnalytics?: boolean;
  /** Its clock. The default is the clock of the machine. */
  now?: () => Date;
  /** Whether an invitation tells that it was accepted, as only newer servers do. */
  tellsAccepted?: boolean;
}

export interface CvatUser {
  id: number;
  username: string;
  email: string;
  /** False for one that an invitation made, until they register. */
  isReal: boolean;
}

export interface CvatInvitation {
  key: string;
  created: string;
  /** Null where no mail was sent. */
  sent: string | null;
}

export interface CvatMembership {
  id: number;
  userId: number;
  org: string;
  isActive: boolean;
  /** When they came in; null while they have not. */
  joined: string | null;
  role: string;
  invitation: CvatInvitation | null;
}

export interface CvatAssignable {
  id: number;
  org: string;
  projectId: number;
  assigneeId: number | null;
  state: string;
}

/** The guide of a project. */
export interface CvatGuide {
  id: number;
  projectId: number;
  markdown: string;
}

export type CvatKind = 'jobs' | 'tasks' | 'projects';

const expiryMs = 7 * 86_400_000;

/** So often an invitation is sent again for one account of a token, whosever it is. */
const resendsAnHour = 5;
const hourMs = 3_600_000;

export function createCvatState(options: CvatOptions) {
  const { hasMail = true, nameOf, mustConfirm = false, ownRole = 'owner' } = options;
  const { now = () => new Date() } = options;
  const users: CvatUser[] = [];
  const memberships: CvatMembership[] = [];
  const work: Record<CvatKind, CvatAssignable[]> = { jobs: [], tasks: [], projects: [] };
  const guides: CvatGuide[] = [];
  const organizations = new Map<string, number>();
  /** By its short name, when it was made: an instant. */
  const madeAt = new Map<string, string>();
  /** When an invitation was to be sent again: instants. */
  const resends: number[] = [];
  let lastId = 0;

  function createUser(username: string, email: string, isReal: boolean): CvatUser {
    const user = { id: ++lastId, username, email, isReal };
    users.push(user);
    return user;
  }
  const own = createUser('manager', 'manager@lab.example', true);

  function createOrganization(slug: string): void {
    organizations.set(slug, ++lastId);
    const joined = now().toISOString();
    madeAt.set(slug, joined);
    const member = { id: ++lastId, userId: own.id, org: slug, isActive: true, joined };
    if (ownRole !== 'none') memberships.push({ ...member, role: ownRole, invitation: null });
  }

  function findByEmail(email: string): CvatUser | undefined {
    return users.find((user) => user.email.toLowerCase() === email.toLowerCase());
  }

  function createInvited(email: string): CvatUser | null {
    const name = nameOf?.(email);
    if (hasName(name ?? email)) return null;
    return createUser(name ?? email, email, name !== undefined);
  }

  /**
   * The user, the membership and the invitation stay, whatever comes of the mail. A new account is
   * called by the address: where another user has that name, the server breaks down.
   */
  function invite(org: string, email: string, role: string) {
    const user = findByEmail(email) ?? createInvited(email);
    if (user === null) return 'broken down';
    if (memberships.some((one) => one.userId === user.id && one.org === org)) return 'is member';
    const invitation = { key: `key-${++lastId}`, created: now().toISOString(), sent: null };
    const membership: CvatMembership = {
      id: ++lastId,
      userId: user.id,
      org,
      isActive: false,
      joined: null,
      role,
      invitation,
    };
    memberships.push(membership);
    if (user.isReal && !mustConfirm) accept(membership);
    else if (!hasMail) return 'no mail';
    else Object.assign(invitation, { sent: invitation.created });
    return membership;
  }

  function accept(membership: CvatMembership): void {
    Object.assign(membership, { isActive: true, joined: now().toISOString() });
  }

  function hasName(name: string): boolean {
    return users.some(({ username }) => username === name);
  }

  /** Every user may do that to their own account, at any time, also to the address of another user. */
  function rename(userId: number, username: string): void {
    if (hasName(username)) throw new Error('A user with that username already exists.');
    const user = users.find(({ id }) => id === userId);
    if (user !== undefined) user.username = username;
  }

  /** @returns seconds until the next try; every try counts */
  function throttleResend(): number | null {
    const nowMs = now().getTime();
    resends.push(nowMs);
    const [first = nowMs, ...more] = resends.filter((atMs) => atMs > nowMs - hourMs);
    if (more.length < resendsAnHour) return null;
    resends.pop();
    return Math.ceil((first + hourMs - nowMs) / 1000);
  }

  function resend(membership: CvatMembership) {
    if (membership.isActive) return 'accepted';
    if (!hasMail) return 'no mail';
    Object.assign(membership.invitation ?? {}, { sent: now().toISOString() });
    return 'sent';
  }

  /** An invited user gets the account that was made for them, under a name of their own. */
  function register(email: string, username: string): CvatUser {
    const user = findByEmail(email) ?? createUser(username, email, true);
    return Object.assign(user, { username, isReal: true });
  }

  function membershipOf(org: string, userId: number): CvatMembership | undefined {
    return memberships.find((one) => one.org === org && one.userId === userId);
  }

  function assign(kind: CvatKind, org: string, more: Partial<CvatAssignable> = {}): CvatAssignable {
    const defaults = { projectId: 7, assigneeId: null, state: 'new' };
    const made = { id: ++lastId, org, ...defaults, ...more };
    work[kind].push(made);
    return made;
  }

  /** A project has one at most. */
  function addGuide(projectId: number, markdown: string): CvatGuide {
    const guide = { id: ++lastId, projectId, markdown };
    guides.push(guide);
    return guide;
  }

  /** Outside of all organizations, each user who has an assignment sees it, with its name, whether a member or not. */
  function jobsListedTo(userId: number): number[] {
    return work.jobs.filter(({ assigneeId }) => assigneeId === userId).map(({ id }) => id);
  }

  return {
    users,
    memberships,
    work,
    guides,
    addGuide,
    organizations,
    madeAt,
    own,
    createUser,
    createOrganization,
    invite,
    accept,
    throttleResend,
    resend,
    register,
    rename,
    membershipOf,
    findByEmail,
    assign,
    jobsListedTo,
    isExpired: ({ sent }: CvatInvitation) => (sent === null ? null : Date.parse(sent) + expiryMs <= now().getTime()),
    remove(id: number): boolean {
      const index = memberships.findIndex((one) => one.id === id);
      if (index !== -1) memberships.splice(index, 1);
      return index !== -1;
    },
  };
}

export type CvatState = ReturnType<typeof createCvatState>;
