import type { Adapter, Capabilities, Member, Person } from '../../src/adapters/adapter.ts';
import { AppError } from '../../src/domain/errors.ts';

type Call = 'find' | 'add' | 'remove' | 'end' | 'list' | 'update';

/** A tool in memory, which a test can inspect and disturb. */
export interface MemoryTool {
  adapter: Adapter;
  /** What was called, in order, as `add signs/cmu1`; `end` is a whole login. */
  calls: string[];
  /** The ids of a group's members. */
  members(group: string): string[];
  /** The same, as they are. */
  roster(group: string): Member[];
  /** Makes a person a member as if another program had done it. */
  seed(group: string, id: string, email?: string | null, madeAt?: string): void;
  /** Makes a login that is in no group. */
  seedAccount(id: string, email?: string | null, madeAt?: string): void;
  /** The ids of all logins. */
  accounts(): string[];
  unseat(group: string, id: string): void;
  /** As an older backup would that did not have them: their ids will be given out again. */
  forgetAccounts(...ids: string[]): void;
  /** Runs before each call takes effect; what it throws is what the tool answers. */
  before: (call: Call, subject: string) => Promise<void> | void;
  /** Runs after a call took effect and before it is answered. */
  after: (call: Call, subject: string) => Promise<void> | void;
  /** Runs between one listed member and the next; what it throws ends the listing. */
  betweenMembers: (id: string) => Promise<void> | void;
  /** Of which changes the answer is lost: they take effect when `arrive` is called, and not before. */
  isLate: (call: Call, subject: string) => boolean;
  /** Does the delayed calls, in their order. */
  arrive(): void;
  /** From now on reads show the present state, until `catchUp` is called. */
  lag(): void;
  catchUp(): void;
  /** Who is missed by a read, as by an empty answer, or a page that shifted meanwhile. */
  isMissed: (group: string, id: string) => boolean;
  /** The most calls that were ever under way at once. */
  mostAtOnce(): number;
}

export interface MemoryToolOptions {
  /** What identifies a person, and is the id of the member; by their address where that is a number. */
  keyedBy?: 'trainer' | 'address' | 'number';
  /** Whether it knows logins apart from groups. */
  hasAccounts?: boolean;
  /** Whether a member can be looked for by the id. Otherwise only what identifies them is used. */
  findsById?: boolean;
  readding?: Capabilities['readding'];
  /** Whether it can list the members of a group; `list <group>` is called once for each. */
  lists?: boolean;
  /** Whether an account can be given another address. */
  updates?: boolean;
  /** When it says that it made the account of an added member. By default it says nothing. */
  madeAt?: string;
}

export function createMemoryTool(
  exclusive: Capabilities['exclusive'] = 'membership',
  {
    keyedBy = 'trainer',
    hasAccounts = false,
    findsById = true,
    readding = 'yes',
    lists = false,
    updates = false,
    madeAt: addedAt,
  }: MemoryToolOptions = {},
): MemoryTool {
  const groups = new Map<string, Map<string, Member>>();
  /** Logins, in a group or not. */
  const accounts = new Map<string, Member>();
  /** What reads show, where they lag behind. */
  let shown: { groups: typeof groups; accounts: typeof accounts } | null = null;
  const late: (() => void)[] = [];
  let underway = 0;
  let most = 0;

  const groupOf = (id: string) => {
    const group = groups.get(id) ?? new Map<string, Member>();
    groups.set(id, group);
    return group;
  };

  const show = (id: string): Member[] =>
    [...((shown?.groups ?? groups).get(id)?.values() ?? [])].filter((member) => !tool.isMissed(id, member.id));

  const keyOf = ({ trainerId, email }: Person) => {
    if (keyedBy === 'trainer') return trainerId;
    const address = email.toLowerCase();
    if (keyedBy === 'address') return address;
    const all = [...accounts.values(), ...[...groups.values()].flatMap((one) => [...one.values()])];
    return all.find((one) => one.email?.toLowerCase() === address)?.id ?? '';
  };

  /** The next one that was never given out, or by the backup was not. */
  const newKey = (person: Person) => {
    if (keyedBy !== 'number' || keyOf(person) !== '') return keyOf(person);
    return String(Math.max(0, ...[...accounts.keys()].map(Number)) + 1);
  };

  async function call<T>(signal: AbortSignal, [kind, subject]: [Call, string], effect: () => T): Promise<T> {
    signal.throwIfAborted();
    tool.calls.push(`${kind} ${subject}`);
    underway += 1;
    most = Math.max(most, underway);
    try {
      await tool.before(kind, subject);
      if (tool.isLate(kind, subject)) {
        late.push(effect);
        throw new AppError('unavailable', 'The answer was lost');
      }
      const result = effect();
      await tool.after(kind, subject);
      return result;
    } finally {
      underway -= 1;
    }
  }

  const adapter: Adapter = {
    capabilities: { removal: { effect: 'locks_out' }, readding, exclusive },
    async check(signal) {
      signal.throwIfAborted();
      return [];
    },
    groupFor: (link) => link.externalProjectId,
    findMember: (group, person, signal) =>
      call(signal, ['find', `${group}/${keyOf(person)}`], () => {
        const members = show(group);
        const byId = members.find(({ id }) => findsById && id === person.memberId);
        const keyIn = ({ id, email }: Member) => (keyedBy === 'address' ? (email ?? id) : id);
        return byId ?? members.find((one) => keyIn(one) === keyOf(person)) ?? null;
      }),
    addMember: (group, person, signal) =>
      call(signal, ['add', `${group}/${newKey(person)}`], () => {
        const id = newKey(person);
        const member = groupOf(group).get(id) ?? toMember(id, person.email, addedAt);
        groupOf(group).set(id, member);
        accounts.set(id, accounts.get(id) ?? member);
        return member;
      }),
    removeMember: (group, { id }, signal) =>
      call(signal, ['remove', `${group}/${id}`], () => void groupOf(group).delete(id)),
    ...(hasAccounts && {
      removeAccount: (group: string, { id }: Member, signal: AbortSignal) =>
        call(signal, ['end', `${group}/${id}`], () => {
          for (const members of groups.values()) members.delete(id);
          accounts.delete(id);
        }),
    }),
    ...((hasAccounts || updates) && {
      findAccount: async (person: Person) => (shown?.accounts ?? accounts).get(keyOf(person)) ?? null,
    }),
    ...(updates && {
      updateEmail: (group: string, { id }: Member, email: string, signal: AbortSignal) =>
        call(signal, ['update', `${group}/${id} ${email}`], () => {
          const member = groupOf(group).get(id);
          if (member !== undefined) groupOf(group).set(id, { ...member, email });
        }),
    }),
    ...(lists && {
      async *listMembers(group: string, signal: AbortSignal) {
        const members = await call(signal, ['list', group], () => show(group));
        for (const member of members) {
          yield member;
          await tool.betweenMembers(member.id);
        }
      },
    }),
  };

  const tool: MemoryTool = {
    adapter,
    calls: [],
    members: (group) => [...groupOf(group).keys()].sort(),
    roster: (group) => [...groupOf(group).values()],
    seed(group, id, email = null, madeAt = undefined) {
      groupOf(group).set(id, toMember(id, email, madeAt));
      tool.seedAccount(id, email, madeAt);
    },
    seedAccount: (id, email = null, madeAt = undefined) => void accounts.set(id, toMember(id, email, madeAt)),
    accounts: () => [...accounts.keys()].sort(),
    unseat: (group, id) => void groupOf(group).delete(id),
    forgetAccounts(...ids) {
      for (const id of ids) {
        for (const members of groups.values()) members.delete(id);
        accounts.delete(id);
      }
    },
    before: () => undefined,
    after: () => undefined,
    betweenMembers: () => undefined,
    isLate: () => false,
    arrive() {
      for (const take of late.splice(0)) take();
    },
    lag() {
      shown = structuredClone({ groups, accounts });
    },
    catchUp() {
      shown = null;
    },
    isMissed: () => false,
    mostAtOnce: () => most,
  };
  return tool;
}

function toMember(id: string, email: string | null, madeAt: string | undefined): Member {
  return { id, email, ...(madeAt !== undefined && { madeAt }) };
}
