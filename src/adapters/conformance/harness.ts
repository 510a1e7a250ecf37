import assert from 'node:assert/strict';
import type { Adapter, Added, Member, Person } from '../adapter.ts';

export interface ConformanceCase {
  /** A sentence about the adapter. */
  name: string;
  /** Why the case cannot be run against this adapter; null if it can. */
  skip?(harness: ConformanceHarness): string | null;
  /** If this case fails, no other can succeed. */
  isNeeded?: true;
  /** @throws if the adapter does not keep the contract */
  run(harness: ConformanceHarness): Promise<void>;
}

export interface ConformanceHarness {
  adapter: Adapter;
  /** Two groups that exist and do not have these people, or one if the tool has only one. */
  groups: readonly [string, ...string[]];
  /** A person for each number, the same at every call, without the tool's id. */
  person(index: number): Person;
  /** Whether every link has a group, as in a file; false if groups must be created elsewhere. */
  hasEveryGroup: boolean;
  /** A number of people that fills several pages of the tool. Without it, pages are not tested. */
  crowd?: number;
  /** Makes a person a member without the adapter. */
  seed?(groupId: string, person: Person): Promise<void>;
  /** Creates an account in no group, without the adapter. */
  seedAccount?(person: Person): Promise<void>;
  /** Gives the id of an account to another person, in the same groups, as a tool may do after it was restored. */
  giveOut?(id: string, email: string): Promise<void>;
  /** Whether a person can still log in. */
  hasAccount?(person: Person): Promise<boolean>;
  /** Accepts an invitation by link, if the tool does not know the person until then. */
  accept?(person: Person, added: Added): Promise<void>;
  /** For a fake tool, which can be made to misbehave. */
  faults?: ToolFaults;
  /** How long one call may take. Milliseconds; 30,000 by default. */
  timeoutMs?: number;
}

export interface ToolFaults {
  /** Requests of this kind have the fault until `end`. */
  begin(kind: RequestKind, fault: ToolFault): void;
  end(): void;
  /** Until `end`, the tool shows every group without members. Leave it out if your fake cannot do that. */
  hideMembers?(): void;
  /** Texts in the tool's answers that no error may quote. */
  secrets: readonly string[];
}

/** `read`: a request that finds or lists, even if the adapter sends it to add a member. */
export type RequestKind = 'check' | 'read' | 'add' | 'remove';

export type ToolFault =
  /** The tool refuses with this status and with the secrets in its text, and does nothing. */
  | { does: 'answers'; status: number; retryAfterSeconds?: number }
  /** The tool answers with success, and does nothing. */
  | { does: 'swallows' }
  /** The tool does it, and never answers. */
  | { does: 'goes_silent' }
  /** The tool does nothing, and never answers. */
  | { does: 'stalls' };

export const aborted = AbortSignal.abort();

/** @param skip why the case cannot be run against an adapter; false if it can */
export function toCase(
  name: string,
  test: (bench: Bench) => Promise<void>,
  skip: (harness: ConformanceHarness) => string | false = () => false,
): ConformanceCase {
  return { name, skip: (harness) => skip(harness) || null, run: (harness) => test(createBench(harness)) };
}

export type Bench = ReturnType<typeof createBench>;

/** The calls that the cases make, by default to the first group. Each has a time-out of its own, so that none can hang. */
export function createBench(harness: ConformanceHarness) {
  const { adapter, groups, timeoutMs = 30_000 } = harness;
  const [firstGroup] = groups;
  const signal = () => AbortSignal.timeout(timeoutMs);
  const find = (person: Person, group = firstGroup) => adapter.findMember(group, person, signal());
  const findAccount = async (person: Person) => await adapter.findAccount?.(person, signal());
  const remove = (member: Member, group = firstGroup) => adapter.removeMember(group, member, signal());

  async function add(person: Person, group = firstGroup): Promise<Member> {
    const added = await adapter.addMember(group, person, signal());
    if (!added.isUnlisted) return added;
    if (harness.accept === undefined) throw new NotAccepted();
    await harness.accept(person, added);
    const member = await find({ ...person, memberId: added.id }, group);
    assert.ok(member, 'a person who accepted is found');
    return member;
  }

  /** Removes a member that the suite added, and their account if it could never be added again, so that the suite can. */
  async function cleanUp(member: Member): Promise<void> {
    const isForGood = adapter.capabilities.keepingAccount?.readding === 'no';
    if (isForGood && adapter.removeAccount) await adapter.removeAccount(firstGroup, member, signal());
    else await remove(member);
  }

  /** Adds a person while `work` runs. */
  async function withMember(person: Person, work: (member: Member) => Promise<void>): Promise<void> {
    const member = await add(person);
    try {
      await work(member);
    } finally {
      await cleanUp(member);
    }
  }

  /** Empty if the adapter lists no members. */
  const list = (given = signal()) => Array.fromAsync(adapter.listMembers?.(firstGroup, given) ?? []);

  async function assertListed(id: string, times: number): Promise<void> {
    if (adapter.listMembers === undefined) return;
    const ids = (await list()).map((member) => member.id);
    assert.equal(ids.filter((listed) => listed === id).length, times, 'how often it is listed');
  }

  const toPerson = (index: number) => harness.person(index);
  const calls = { toPerson, signal, find, findAccount, add, remove, cleanUp, withMember, list, assertListed };
  return { harness, adapter, groups, firstGroup, ...calls };
}

/** Ends a case that needs a member, if people must sign up themselves. */
export class NotAccepted extends Error {
  override readonly message = 'people sign up by a link, which the suite cannot follow here';
}
