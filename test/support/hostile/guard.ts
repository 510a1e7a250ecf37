import { describeForged } from './forged-event.ts';
import type { ForgedDelivery } from './forger.ts';
import { type AccountState, changesBetween, type Standing, type StandingChange, stateOf } from './standing.ts';
import { hasAddressOf, type KnownPerson, type WatchedTool } from './watched-tool.ts';

/** Ids that a server may take for others: they belong to no customer, whatever the patterns say. */
const beyondWalls = /[/\\%\p{Cc}]|^\s|\s$|^\.{1,2}$/u;

/** Sees every change of the tool, and knows which no customer may make. */
export interface Guard {
  /** From now on they may be put where they were hired to. */
  expect(person: KnownPerson): void;
  /** From now on, as they are in, nothing of them may change. */
  guard(person: KnownPerson): void;
  /** Their contract ends. */
  release(person: KnownPerson): void;
  /** What was forged last, to be reported with what it led to. */
  note(deliveries: readonly ForgedDelivery[]): void;
  /** How much of all that was done it has seen. */
  countChanges(): number;
  /** What was done that no customer may do, each once. */
  violations(): string[];
  /** When all is over: who is where they should not be, and who is not where they should be. */
  judgeEnd(hired: readonly KnownPerson[]): { astray: string[]; stuck: string[] };
}

interface Bystanders {
  /** By the id of the account, who it is. */
  names: ReadonlyMap<string, string>;
  protectedAccounts: readonly string[];
  /** Groups that the honest customer has to itself. */
  closedGroups: ReadonlySet<string>;
}

export function createGuard(tool: WatchedTool, bystanders: Bystanders): Guard {
  const begun = tool.standing();
  const expected = new Set<KnownPerson>();
  const guarded = new Set<KnownPerson>();
  const seen = new Map<string, string>();
  let lastForged: readonly ForgedDelivery[] = [];
  let before = begun;
  let changeCount = 0;

  const isSeeded = (account: string, group: string) => begun.members.get(group)?.includes(account) === true;
  const find = (people: ReadonlySet<KnownPerson>, change: StandingChange) => {
    const state = 'before' in change ? change.before : stateOfChange(change);
    return [...people].find((one) => tool.isAccountOf(one, change.account, state));
  };
  const groupsOf = ({ projects }: KnownPerson) => [...projects].map(tool.groupOf);

  /** @returns what is wrong about it, or undefined */
  function judge(change: StandingChange): string | undefined {
    const { kind, account } = change;
    const name = bystanders.names.get(account);
    if (name !== undefined) return judgeBystander(change, name);
    if (kind === 'joined') return judgeJoin(change.group, find(expected, change));
    const person = find(guarded, change);
    if (person === undefined || kind === 'made') return undefined;
    if (kind !== 'left') return `account of ${person.trainerId}: ${kind}`;
    return groupsOf(person).includes(change.group) ? `${person.trainerId} taken out of ${change.group}` : undefined;
  }

  function judgeBystander(change: StandingChange, name: string): string | undefined {
    if (change.kind !== 'joined' && change.kind !== 'left') return `${name}: ${change.kind}`;
    const { kind, group, account } = change;
    if (kind === 'left') return isSeeded(account, group) ? `${name} left ${group}` : undefined;
    if (bystanders.protectedAccounts.includes(account)) return `${name}, protected, joined ${group}`;
    return judgeJoin(group, undefined, name);
  }

  function judgeJoin(group: string, person?: KnownPerson, name = 'a person'): string | undefined {
    if (beyondWalls.test(group)) return `${name} joined ${group}, which is beyond every wall`;
    const isExpected = person !== undefined && groupsOf(person).includes(group);
    const isClosed = bystanders.closedGroups.has(group);
    return isClosed && !isExpected ? `${name} joined ${group} of the honest customer` : undefined;
  }

  tool.watch((call) => {
    const after = tool.standing();
    for (const change of changesBetween(before, after)) {
      changeCount += 1;
      const wrong = judge(change);
      if (wrong === undefined || seen.has(wrong)) continue;
      seen.set(wrong, `${wrong}, by ${call}${forgeryOf(change, before, lastForged)}`);
    }
    before = after;
  });

  return {
    expect: (person) => void expected.add(person),
    guard: (person) => void guarded.add(person),
    release(person) {
      guarded.delete(person);
    },
    note(deliveries) {
      lastForged = deliveries;
    },
    countChanges: () => changeCount,
    violations: () => [...seen.values()],
    judgeEnd(hired) {
      const { strangers, absent } = judgeMembers(tool, isSeeded, hired);
      const seeded = judgeSeeded(begun, tool.standing(), bystanders.names);
      return { astray: [...seeded, ...strangers], stuck: absent };
    },
  };
}

function stateOfChange(change: Exclude<StandingChange, { before: object }>): AccountState {
  return change.kind === 'made' ? change.after : change.state;
}

/** The forged events of the same step that name the address: some of them were the cause. */
function forgeryOf({ account }: StandingChange, before: Standing, forged: readonly ForgedDelivery[]): string {
  const address = stateOf(before, account).email.toLowerCase();
  const about = forged.flatMap((one) => {
    const isAbout = address !== '' && one.forged?.email?.toLowerCase() === address;
    return isAbout && one.forged !== null ? describeForged(one.forged) : [];
  });
  return about.length === 0 ? '' : `, after ${about.slice(0, 3).join(' ')}`;
}

function judgeSeeded(begun: Standing, now: Standing, names: ReadonlyMap<string, string>): string[] {
  return changesBetween(begun, now).flatMap((change) => {
    const name = names.get(change.account);
    const where = 'group' in change ? ` ${change.group}` : '';
    return name === undefined ? [] : `in the end, ${name}: ${change.kind}${where}`;
  });
}

function judgeMembers(
  tool: WatchedTool,
  isSeeded: (account: string, group: string) => boolean,
  hired: readonly KnownPerson[],
): { strangers: string[]; absent: string[] } {
  const now = tool.standing();
  const missing = new Set(hired);
  const strangers: string[] = [];
  for (const [group, ids] of now.members) {
    for (const account of ids.filter((id) => !isSeeded(id, group))) {
      const state = stateOf(now, account);
      const person = hired.find(
        (one) =>
          hasAddressOf(one, state) &&
          tool.isAccountOf(one, account, state) &&
          [...one.projects].map(tool.groupOf).includes(group),
      );
      if (person === undefined) strangers.push(`in the end, in ${group}: ${state.email}`);
      else missing.delete(person);
    }
  }
  const absent = [...missing].map(({ trainerId }) => `in the end, not in: ${trainerId}`);
  return { strangers, absent };
}
