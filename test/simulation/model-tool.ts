import type { Adapter, Member, Person } from '../../src/adapters/adapter.ts';
import { AppError } from '../../src/domain/errors.ts';
import { clockwork, isDead, never } from './clockwork.ts';
import { createWork, type Work } from './work.ts';

/** How long a call of a dead process may still be in progress. */
const longestCallMs = 15_000;
/** A call that was given up takes effect at most this long after it began. */
const latestEffectMs = 27_000;
const missedAgainMs = 10 * 60_000;
const hourMs = 60 * 60_000;
/** The most invitations that are renewed in an hour, of all people together. */
const mostRenewals = 5;
/** How often somebody may be left out of answers within `leftOutMs`. */
const mostLeftOut = 2;
const leftOutMs = 2 * hourMs;
const invitationLifeMs = 12 * hourMs;
const slowestGuestMs = 4 * hourMs;

/**
 * A tool with the quirks of real ones: accounts apart from memberships, ids that are reused after a restored backup,
 * members that lists leave out although they can get in, pages that shift, and calls that take effect without an answer,
 * take effect much later, or are answered without any effect.
 */
export interface ModelTool {
  adapter: Adapter;
  traits: ToolTraits;
  weather: ToolWeather;
  work: Work;
  /** Somebody who is in works for the given time. */
  workOn(seat: string, seconds: number): void;
  /** Everybody who can get in, as `group/address`. */
  seats(): Set<string>;
  /** Called when a call has taken effect but is not answered yet. */
  onDone: () => void;
  /** Called when an addition or removal by the bridge takes effect. */
  onAdd: (seat: string, group: string, hasOtherAccount: boolean) => void;
  onRemove: (seat: string, group: string) => void;
  /** Called when a look missed a member, whom the bridge then added again. */
  onTakenOver: (seat: string) => void;
  /** Called when a second call about an account begins before the first has ended. */
  onOverlap: (address: string) => void;
  /** Somebody else removes a member. */
  takeOut(seat: string): void;
  /** Somebody else adds a member. @param id the new account's id, if it is a reused one */
  putIn(group: string, address: string, id?: string): void;
  /** Whether no account in the seat was added by the bridge. */
  isByHand(seat: string): boolean;
  /** Whether the seat has one account; a second one may be known under an earlier address. */
  hasOneAccount(seat: string): boolean;
  /** Hides an account from the lists and looks of a group, although it can get in. */
  hide(group: string, id: string): void;
  /** Records a further address of somebody who is known under another. */
  alias(address: string, known: string): void;
  /** The owner of an account changes its address. */
  rename(id: string, address: string): void;
  /** The address of an account if its owner is known under `known`; otherwise null. */
  addressOf(id: string, known: string): string | null;
  /** The id of the account in a seat. */
  idOf(seat: string): string;
  isTaken(id: string): boolean;
  /** Resolves when the next call about an account begins. */
  called(address: string): Promise<void>;
  backUp(): unknown;
  restore(backup: unknown): void;
}

export interface ToolTraits {
  lists: boolean;
  findsById: boolean;
  /** Whether a removal also ends the account. */
  endsAccounts: boolean;
  pageSize: number;
  /** Whether it reports work. */
  counts: boolean;
  /** Whether people without an account are invited. They come in later, some under another address. */
  invites: boolean;
  /** Whether it may hide members who can get in. */
  hides: boolean;
}

/** The probability, from 0 to 1, of each fault of a call. */
export interface ToolWeather {
  isDown: boolean;
  /** It takes effect, and the answer is lost. */
  losesAnswer: number;
  /** It is not answered, and takes effect some seconds later, while it could still arrive. */
  isLate: number;
  /** It is answered as done, but has no effect. */
  lies: number;
  /** A list or a look leaves out a member. */
  misses: number;
  /** It is refused with 429. */
  refuses: number;
  slowMs: number;
}

export const fairWeather: ToolWeather = {
  isDown: false,
  losesAnswer: 0,
  isLate: 0,
  lies: 0,
  misses: 0,
  refuses: 0,
  slowMs: 50,
};

interface Account {
  id: string;
  address: string;
  /** Whether the invitation is not accepted yet. */
  isInvited: boolean;
}

interface State {
  accounts: Map<string, Account>;
  /** The ids of the accounts in each group. */
  groups: Map<string, Set<string>>;
  /** Members whom somebody else added, as `group/id`. */
  byHand: Set<string>;
  nextId: number;
  /** When invitations were renewed. */
  renewedMs: number[];
}

export function createModelTool(traits: ToolTraits): ModelTool {
  let state: State = { accounts: new Map(), groups: new Map(), byHand: new Set(), nextId: 1, renewedMs: [] };
  const aliases = new Map<string, string>();
  /** As `group/id`. */
  const hidden = new Set<string>();
  const work = createWork();
  /** Seats that a look has missed, and when. */
  const missed = new Map<string, number>();
  /** When each member was left out of answers, as `group/id`. */
  const leftOut = new Map<string, number[]>();
  /** By address, until when a call about it may be in progress. */
  const calls = new Map<string, { untilMs: number }[]>();
  const awaited = new Map<string, () => void>();

  const groupOf = (id: string) => {
    const group = state.groups.get(id) ?? new Set<string>();
    state.groups.set(id, group);
    return group;
  };
  const accountBy = (address: string) =>
    [...state.accounts.values()].find((account) => account.address === address.toLowerCase());
  const toMember = ({ id, address, isInvited }: Account): Member => ({ id, email: address, isInvited });
  const knownAs = (address: string) => aliases.get(address) ?? address;
  const seatOf = (group: string, id: string) => `${group}/${knownAs(state.accounts.get(id)?.address ?? id)}`;
  /** The accounts in a seat: a person may have several, under different addresses. */
  const accountsAt = (seat: string) => {
    const [group = '', address = ''] = seat.split('/');
    const known = [...state.accounts.values()].filter((account) => knownAs(account.address) === address);
    return known.filter(({ id }) => groupOf(group).has(id));
  };

  function makeAccount(address: string, id = String(state.nextId)): Account {
    const account = { id, address: address.toLowerCase(), isInvited: false };
    state.nextId = Math.max(state.nextId, Number(id) + 1);
    state.accounts.set(account.id, account);
    return account;
  }

  /** Most invited people come in within hours, some under another address that does not show who they are. */
  function invite(group: string, account: Account): Account {
    if (!traits.invites) return account;
    account.isInvited = true;
    const { id } = account;
    void clockwork.wait(clockwork.random() * slowestGuestMs).then(() => {
      const invited = state.accounts.get(id);
      if (!invited?.isInvited || !groupOf(group).has(id)) return;
      if (clockwork.random() < 0.8) invited.isInvited = false;
      else groupOf(group).add(makeAccount(`private-${id}@home.example`).id);
    });
    return account;
  }

  function newInvitation({ id }: Pick<Account, 'id'>) {
    const expiresAt = new Date(clockwork.nowMs() + invitationLifeMs).toISOString();
    return { kind: 'link' as const, url: `https://studio.example/invitations/${id}`, expiresAt };
  }

  function renew(id: string) {
    const now = clockwork.nowMs();
    state.renewedMs = state.renewedMs.filter((atMs) => now - atMs < hourMs);
    if (state.renewedMs.length >= mostRenewals) {
      throw new AppError('rate_limited', 'Too many invitations', { retryAfterMs: hourMs });
    }
    state.renewedMs.push(now);
    return newInvitation({ id });
  }

  /** A look at the tool. */
  async function look<T>(signal: AbortSignal, answer: () => T): Promise<T> {
    await arrive(signal);
    const answered = answer();
    await clockwork.wait(tool.weather.slowMs * clockwork.random(), signal);
    return answered;
  }

  /** A call that changes the tool. The call of a dead process never returns. */
  async function change<T>(address: string | null, signal: AbortSignal, effect: () => T, lie: () => T): Promise<T> {
    const key = (address ?? '').toLowerCase();
    const its = (calls.get(key) ?? []).filter(({ untilMs }) => untilMs > clockwork.nowMs());
    if (its.length > 0) tool.onOverlap(key);
    awaited.get(key)?.();
    const call = { untilMs: clockwork.nowMs() + longestCallMs };
    calls.set(key, [...its, call]);
    try {
      return await carryOut(signal, effect, lie);
    } finally {
      call.untilMs = 0;
    }
  }

  async function carryOut<T>(signal: AbortSignal, effect: () => T, lie: () => T): Promise<T> {
    const beganMs = clockwork.nowMs();
    await arrive(signal);
    const { isLate, lies, losesAnswer, slowMs } = tool.weather;
    const chance = clockwork.random();
    if (chance < isLate) {
      const latestMs = latestEffectMs - (clockwork.nowMs() - beganMs);
      const late = clockwork.wait(Math.min(2000 + clockwork.random() * 20_000, latestMs)).then(effect);
      // It may be refused later, and that answer is lost too.
      late.catch(() => undefined);
      await clockwork.wait(1000, signal);
      throw new AppError('unavailable', 'The answer was lost');
    }
    if (chance < isLate + lies) return lie();
    const done = effect();
    tool.onDone();
    await clockwork.wait(slowMs * clockwork.random(), signal);
    if (clockwork.random() < losesAnswer) throw new AppError('unavailable', 'The answer was lost');
    return done;
  }

  async function arrive(signal: AbortSignal): Promise<void> {
    if (isDead()) await never();
    signal.throwIfAborted();
    await clockwork.wait(tool.weather.slowMs * clockwork.random(), signal);
    if (tool.weather.isDown) throw new AppError('unavailable', 'The tool is down');
    if (clockwork.random() < tool.weather.refuses) {
      throw new AppError('rate_limited', 'Too many requests', { retryAfterMs: 5000 });
    }
  }

  function find(group: string, { email, memberId }: Person): Account | undefined {
    const ids = groupOf(group);
    const byId = traits.findsById && memberId !== null && ids.has(memberId) ? state.accounts.get(memberId) : undefined;
    if (byId !== undefined) return byId;
    const account = accountBy(email);
    return account !== undefined && ids.has(account.id) ? account : undefined;
  }

  /**
   * A look searches the list if the tool has one. Without a list nothing would show the member later, so a look does not
   * miss anybody again soon, nor anybody whom a call only seemed to remove.
   */
  function isMissed(group: string, account: Account): boolean {
    if (traits.lists || hidden.has(`${group}/${account.id}`)) return !isShown(group, account);
    const isOften = clockwork.nowMs() - (missed.get(seatOf(group, account.id)) ?? 0) < missedAgainMs;
    return !isOften && tool.weather.lies === 0 && clockwork.random() < tool.weather.misses;
  }

  /** By design, somebody who is left out of two looks and a list is taken to be out. */
  function isShown(group: string, { id }: Account): boolean {
    const member = `${group}/${id}`;
    if (hidden.has(member)) return false;
    const now = clockwork.nowMs();
    const lately = (leftOut.get(member) ?? []).filter((atMs) => now - atMs < leftOutMs);
    const isLeftOut = clockwork.random() < tool.weather.misses && lately.length < mostLeftOut;
    leftOut.set(member, isLeftOut ? [...lately, now] : lately);
    return !isLeftOut;
  }

  const adapter: Adapter = {
    capabilities: {
      removal: { effect: 'locks_out' },
      readding: 'yes',
      exclusive: 'membership',
      ...(traits.invites && { invitation: 'own' as const }),
      ...(traits.hides && { removesUnseen: traits.findsById || 'if_never_seen' }),
      ...(traits.counts && { usage: { counts: ['seconds'], outlivesRemoval: true } }),
      ...(traits.endsAccounts && {
        keepingAccount: { removal: { effect: 'membership_only', reason: 'the login stays' }, readding: 'yes' },
      }),
    },
    check: async () => [],
    groupFor: ({ externalProjectId }) => externalProjectId,
    findMember: (group, person, signal) =>
      look(signal, () => {
        const account = find(group, person);
        if (account === undefined) return null;
        if (!isMissed(group, account)) return toMember(account);
        missed.set(seatOf(group, account.id), clockwork.nowMs());
        return null;
      }),
    findAccount: ({ email }, signal) =>
      look(signal, () => {
        const account = accountBy(email);
        return account === undefined ? null : toMember(account);
      }),
    findAccountById: (id, signal) =>
      look(signal, () => {
        const account = state.accounts.get(id);
        return account === undefined ? null : toMember(account);
      }),
    addMember: (group, { email }, signal) =>
      change(
        email,
        signal,
        () => {
          const known = accountBy(email);
          const account = known ?? invite(group, makeAccount(email));
          const isNew = !groupOf(group).has(account.id);
          groupOf(group).add(account.id);
          const seat = seatOf(group, account.id);
          if (isNew) tool.onAdd(seat, group, accountsAt(seat).length > 1);
          else if (missed.has(seat)) tool.onTakenOver(seat);
          return {
            ...toMember(account),
            account: known === undefined ? ('made' as const) : ('found' as const),
            ...(account.isInvited && { invitation: newInvitation(account) }),
          };
        },
        () => ({ id: '0', email, account: 'found' as const }),
      ),
    removeMember: (group, { id, email }, signal) =>
      change(
        email,
        signal,
        () => takeOut(group, id),
        () => undefined,
      ),
    ...(traits.endsAccounts && {
      removeAccount: (group, { id, email }, signal) =>
        change(
          email,
          signal,
          () => {
            for (const name of [...state.groups.keys()]) takeOut(name, id);
            takeOut(group, id);
            state.accounts.delete(id);
          },
          () => undefined,
        ),
    }),
    ...(traits.invites && {
      renewInvitation: (_group, { id, email }, signal) =>
        change(
          email,
          signal,
          () => renew(id),
          () => newInvitation({ id }),
        ),
    }),
    ...(traits.counts && {
      usageScopeFor: ({ externalProjectId }) => externalProjectId,
      async *readUsage(scope, request, signal) {
        yield* await look(signal, () => work.read(scope, request));
      },
    }),
    ...(traits.lists && {
      async *listMembers(group: string, signal: AbortSignal) {
        for (let from = 0; ; from += traits.pageSize) {
          const page = await look(signal, () => [...groupOf(group)].slice(from, from + traits.pageSize));
          const accounts = page.flatMap((id) => state.accounts.get(id) ?? []);
          yield* accounts.filter((account) => isShown(group, account)).map(toMember);
          if (page.length < traits.pageSize) return;
        }
      },
    }),
  };

  function leave(group: string, id: string): boolean {
    state.byHand.delete(`${group}/${id}`);
    hidden.delete(`${group}/${id}`);
    return groupOf(group).delete(id);
  }

  function takeOut(group: string, id: string): void {
    const seat = seatOf(group, id);
    // They may still be in under another address.
    if (leave(group, id) && accountsAt(seat).length === 0) tool.onRemove(seat, group);
  }

  const tool: ModelTool = {
    adapter,
    traits,
    weather: { ...fairWeather },
    work,
    workOn(seat, seconds) {
      const [group = ''] = seat.split('/');
      const account = accountsAt(seat).find(({ isInvited }) => !isInvited);
      if (account !== undefined) work.begin(group, { ...account, knownAs: knownAs(account.address) }, seconds);
    },
    onDone: () => undefined,
    onAdd: () => undefined,
    onRemove: () => undefined,
    onTakenOver: () => undefined,
    onOverlap: () => undefined,
    isByHand(seat) {
      const [group = ''] = seat.split('/');
      return accountsAt(seat).every(({ id }) => state.byHand.has(`${group}/${id}`));
    },
    hasOneAccount: (seat) => accountsAt(seat).length === 1,
    hide: (group, id) => void hidden.add(`${group}/${id}`),
    seats: () => new Set([...state.groups].flatMap(([group, ids]) => [...ids].map((id) => seatOf(group, id)))),
    takeOut(seat) {
      const [group = ''] = seat.split('/');
      for (const { id } of accountsAt(seat)) leave(group, id);
    },
    putIn(group, address, id) {
      const account = accountBy(address) ?? makeAccount(address, id);
      if (!groupOf(group).has(account.id)) state.byHand.add(`${group}/${account.id}`);
      groupOf(group).add(account.id);
    },
    alias: (address, known) => void aliases.set(address, known),
    rename(id, address) {
      const account = state.accounts.get(id);
      if (account === undefined) return;
      tool.alias(address, knownAs(account.address));
      account.address = address;
    },
    addressOf(id, known) {
      const address = state.accounts.get(id)?.address ?? '';
      return knownAs(address) === known ? address : null;
    },
    idOf: (seat) => accountsAt(seat)[0]?.id ?? '',
    isTaken: (id) => state.accounts.has(id),
    called: (address) => new Promise((resolve) => awaited.set(address, resolve)),
    backUp: () => structuredClone(state),
    restore(backup) {
      state = structuredClone(backup) as State;
    },
  };
  return tool;
}
