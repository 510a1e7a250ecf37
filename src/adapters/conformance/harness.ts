import assert from 'node:assert/strict';
import type { Adapter, AdapterLink, Added, Member, Person } from '../adapter.ts';

/** What every case stands on: the tool it is run against, and calls that come to an end. */

export interface ConformanceCase {
  /** A sentence about the adapter. */
  name: string;
  /** Why it cannot be run against this one; null where it can. */
  skip?(harness: ConformanceHarness): string | null;
  /** @throws whatever says that the adapter does not keep the contract */
  run(harness: ConformanceHarness): Promise<void>;
}

export interface ConformanceHarness {
  adapter: Adapter;
  /** Two groups that exist and that these people are not in; one where the tool has one. */
  groups: readonly [string, ...string[]];
  /** One person for each number, the same at every call; the tool's own id is not known. */
  person(index: number): Person;
  /** Whether every link's group is there to be used, as in a file; false where groups are made elsewhere. */
  hasEveryGroup: boolean;
  /** How many people the tool does not show at a time; without it nothing is known of its pages. */
  crowd?: number;
  /** Makes somebody a member as another hand than the adapter's would have. */
  seed?(groupId: string, person: Person): Promise<void>;
  /** Makes an account that is in no group, as another hand than the adapter's would. */
  seedAccount?(person: Person): Promise<void>;
  /**
   * Gives the id of an account to somebody else in its place, in the same groups, as a tool does that
   * was restored from an older backup.
   */
  giveOut?(id: string, email: string): Promise<void>;
  /** Whether somebody can still get in by their account. */
  hasAccount?(person: Person): Promise<boolean>;
  /** Does what somebody does with a link, where the tool knows nothing of them until then. */
  accept?(person: Person, added: Added): Promise<void>;
  /** Where the tool can be made to misbehave: a fake one. */
  faults?: ToolFaults;
  /** How long one call may take; 30,000 unless told. Milliseconds. */
  timeoutMs?: number;
}

export interface ToolFaults {
  /** From now on the tool treats requests of this kind so, until `end`. */
  begin(kind: RequestKind, fault: ToolFault): void;
  end(): void;
  /** What no error may quote: the tool puts them into what it `answers`. */
  secrets: readonly string[];
}

/** `read` is whatever finds or lists; what an adapter reads while it adds is a `read`. */
export type RequestKind = 'check' | 'read' | 'add' | 'remove';

export type ToolFault =
  /** It refuses, with this status and the secrets in its text, and does nothing. */
  | { does: 'answers'; status: number; retryAfterSeconds?: number }
  /** It answers that it did it, and does nothing. */
  | { does: 'swallows' }
  /** It does it, and never answers. */
  | { does: 'goes_silent' }
  /** It does nothing, and never answers. */
  | { does: 'stalls' };

export const aborted = AbortSignal.abort();

/** A signal of its own for each call, so that none can hang the suite. */
export function signalOf({ timeoutMs = 30_000 }: ConformanceHarness): AbortSignal {
  return AbortSignal.timeout(timeoutMs);
}

export function toLink(externalProjectId: string): AdapterLink {
  return { externalProjectId, externalProjectName: null };
}

/** Adds somebody to the first group for as long as `work` takes. */
export async function withMember(
  harness: ConformanceHarness,
  person: Person,
  work: (member: Member) => Promise<void>,
): Promise<void> {
  const member = await add(harness, person);
  try {
    await work(member);
  } finally {
    await cleanUp(harness, member);
  }
}

export async function find(
  harness: ConformanceHarness,
  person: Person,
  group = harness.groups[0],
): Promise<Member | null> {
  return await harness.adapter.findMember(group, person, signalOf(harness));
}

export async function add(harness: ConformanceHarness, person: Person, group = harness.groups[0]): Promise<Member> {
  const added = await harness.adapter.addMember(group, person, signalOf(harness));
  if (!added.isUnlisted) return added;
  if (harness.accept === undefined) throw new NotAccepted();
  await harness.accept(person, added);
  const member = await find(harness, { ...person, memberId: added.id }, group);
  assert.ok(member, 'who accepted is found');
  return member;
}

/** Ends a case that needs somebody to be in where only they can let themselves in. */
export class NotAccepted extends Error {
  override readonly message = 'people let themselves in by a link, and nobody follows it here';
}

export async function remove(harness: ConformanceHarness, member: Member, group = harness.groups[0]): Promise<void> {
  await harness.adapter.removeMember(group, member, signalOf(harness));
}

/**
 * Puts back what the suite made. Where somebody who was taken out can never be added again, their
 * account goes too: it would be in the way of whoever runs the suite after this.
 */
export async function cleanUp(harness: ConformanceHarness, member: Member): Promise<void> {
  const { adapter, groups } = harness;
  const { removeAccount, capabilities } = adapter;
  const isForGood = capabilities.keepingAccount?.readding === 'no';
  if (!isForGood || removeAccount === undefined) return await remove(harness, member);
  await removeAccount.call(adapter, groups[0], member, signalOf(harness));
}

/** Nobody where the adapter has no list. */
export async function list(harness: ConformanceHarness, signal = signalOf(harness)): Promise<Member[]> {
  const { adapter, groups } = harness;
  const members: Member[] = [];
  for await (const member of adapter.listMembers?.(groups[0], signal) ?? []) members.push(member);
  return members;
}

export async function assertListed(harness: ConformanceHarness, id: string, times: number): Promise<void> {
  if (harness.adapter.listMembers === undefined) return;
  const ids = (await list(harness)).map((member) => member.id);
  assert.equal(ids.filter((listed) => listed === id).length, times, 'how often it is listed');
}

export function skipsWithoutList({ adapter }: ConformanceHarness): string | null {
  return adapter.listMembers === undefined ? 'the adapter lists nobody' : null;
}
