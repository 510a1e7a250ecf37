import assert from 'node:assert/strict';
import type { Adapter, AdapterLink, Member, Person } from './adapter.ts';

/**
 * The port's contract in executable form: what every adapter must do, whatever its tool. The cases
 * know no test framework, take people of their own each, and put back what they changed, so that
 * they may be run against a tool that others are using.
 */
export interface ConformanceCase {
  /** A sentence about the adapter. */
  name: string;
  /** @throws whatever says that the adapter does not keep the contract */
  run(harness: ConformanceHarness): Promise<void>;
}

export interface ConformanceHarness {
  adapter: Adapter;
  /** Two groups that exist and that these people are not in. */
  groups: readonly [string, string];
  /** One person for each number, the same at every call; the tool's own id is not known. */
  person(index: number): Person;
  /** Whether every link's group is there to be used, as in a file; false where groups are made elsewhere. */
  hasEveryGroup: boolean;
}

const signal = new AbortController().signal;
const aborted = AbortSignal.abort();

const hostileNames = [
  '__proto__',
  'constructor',
  `O'Neil "the" \\ \`x\` \${y}`,
  '<script>alert(1)</script>',
  "'; drop table member; --",
  'مرحبا \u202e abc',
  '李雷 👩‍👧 Zoë',
  '=HYPERLINK("https://evil.example")',
  'n'.repeat(300),
];

const hostileProjects = [
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  'a/b?c=d#e',
  '..',
  '%2e%2e%2f',
  "'; drop table project; --",
  '<script>',
  'プロジェクト 👩‍👧',
  ' ',
  'p'.repeat(200),
];

export const conformanceCases: readonly ConformanceCase[] = [
  { name: 'says what it can do', run: declaresItself },
  { name: 'checks its tool', run: ({ adapter }) => adapter.check(signal) },
  { name: 'maps a link to the same group every time', run: mapsPurely },
  { name: 'finds nobody where nobody is', run: findsNobody },
  { name: 'finds whom it added, under the same id', run: findsWhomItAdded },
  { name: 'adds twice and has one member', run: addsOnce },
  { name: 'does not mind the case of an address', run: ignoresCase },
  { name: 'finds nobody after a removal, also by the id they had', run: removes },
  { name: 'removes somebody who is not there without an error', run: removesTwice },
  { name: 'takes nobody out of another group', run: keepsGroupsApart },
  { name: 'takes nobody else out of the group', run: keepsPeopleApart },
  { name: 'adds somebody again who was removed', run: addsAgain },
  { name: 'lists whom it finds, once each', run: listsWhomItFinds },
  { name: 'bears every name', run: bearsNames },
  { name: 'bears every project id', run: bearsProjects },
  { name: 'makes no call that was given up before it began', run: heedsItsSignal },
];

async function declaresItself({ adapter: { capabilities } }: ConformanceHarness): Promise<void> {
  const { removal, readding, exclusive } = capabilities;
  if (removal.effect === 'membership_only') assert.notEqual(removal.reason.trim(), '');
  else assert.equal(removal.effect, 'locks_out');
  assert.ok(['yes', 'new_account', 'no'].includes(readding));
  assert.ok(['membership', 'group', 'tool'].includes(exclusive));
}

async function mapsPurely({ adapter }: ConformanceHarness): Promise<void> {
  for (const externalProjectId of ['street-signs', ...hostileProjects]) {
    const first = adapter.groupFor(toLink(externalProjectId));
    assert.equal(typeof first, 'string');
    assert.equal(adapter.groupFor(toLink(externalProjectId)), first);
    const renamed = { externalProjectId, externalProjectName: 'another name' };
    assert.equal(adapter.groupFor(renamed), first, 'a name is for showing only');
  }
}

async function findsNobody({ adapter, groups, person }: ConformanceHarness): Promise<void> {
  for (const group of groups) {
    assert.equal(await adapter.findMember(group, person(1), signal), null);
  }
}

async function findsWhomItAdded(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(2);
  await withMember(harness, person, async (member) => {
    assert.equal(typeof member.id, 'string');
    assert.notEqual(member.id, '');
    assert.equal((await find(harness, person))?.id, member.id);
    assert.equal((await find(harness, { ...person, memberId: member.id }))?.id, member.id);
    assert.equal((await find(harness, { ...person, displayName: 'Renamed' }))?.id, member.id);
  });
}

async function addsOnce(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(3);
  await withMember(harness, person, async (member) => {
    const again = await add(harness, { ...person, memberId: member.id });
    assert.equal(again.id, member.id);
    assert.equal((await add(harness, person)).id, member.id);
    await assertListed(harness, member.id, 1);
    await remove(harness, member);
    assert.equal(await find(harness, person), null, 'one removal undoes two additions');
  });
}

async function ignoresCase(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(4);
  const shouted = { ...person, email: person.email.toUpperCase() };
  await withMember(harness, shouted, async (member) => {
    assert.equal((await find(harness, person))?.id, member.id);
    assert.equal((await find(harness, shouted))?.id, member.id);
    assert.equal((await add(harness, person)).id, member.id);
    await assertListed(harness, member.id, 1);
  });
}

async function removes(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(5);
  await withMember(harness, person, async (member) => {
    await remove(harness, member);
    assert.equal(await find(harness, person), null);
    assert.equal(await find(harness, { ...person, memberId: member.id }), null);
    await assertListed(harness, member.id, 0);
  });
}

async function removesTwice(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(6);
  await withMember(harness, person, async (member) => {
    await remove(harness, member);
    await remove(harness, member);
    assert.equal(await find(harness, person), null);
  });
}

async function keepsGroupsApart(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const [here, there] = groups;
  const person = harness.person(7);
  await withMember(harness, person, async (member) => {
    assert.equal(await adapter.findMember(there, person, signal), null);
    // Nobody is in it, so this removes nobody, and least of all from the other group.
    await adapter.removeMember(there, member, signal);
    assert.equal((await find(harness, person))?.id, member.id);

    const other = await adapter.addMember(there, person, signal);
    try {
      await adapter.removeMember(here, member, signal);
      assert.equal(await find(harness, person), null);
      assert.equal((await adapter.findMember(there, person, signal))?.id, other.id);
    } finally {
      await adapter.removeMember(there, other, signal);
    }
  });
}

async function keepsPeopleApart(harness: ConformanceHarness): Promise<void> {
  const [one, two] = [harness.person(8), harness.person(9)];
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      assert.notEqual(first.id, second.id);
      await remove(harness, first);
      assert.equal(await find(harness, one), null);
      assert.equal((await find(harness, two))?.id, second.id);
    });
  });
}

async function addsAgain(harness: ConformanceHarness): Promise<void> {
  if (harness.adapter.capabilities.readding !== 'yes') return;
  const person = harness.person(10);
  await withMember(harness, person, async (member) => {
    await remove(harness, member);
    const returned = await add(harness, { ...person, memberId: member.id });
    assert.equal((await find(harness, person))?.id, returned.id);
    await remove(harness, returned);
  });
}

async function listsWhomItFinds(harness: ConformanceHarness): Promise<void> {
  if (harness.adapter.listMembers === undefined) return;
  const [one, two] = [harness.person(11), harness.person(12)];
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      const listed = await list(harness);
      const ids = listed.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length, 'nobody is listed twice');
      for (const { id } of [first, second]) assert.ok(ids.includes(id), 'whoever is in is listed');
      for (const { email } of listed) assert.ok(email === null || email.includes('@'));
    });
    await assertListed(harness, first.id, 1);
  });
}

async function bearsNames(harness: ConformanceHarness): Promise<void> {
  for (const [index, displayName] of [...hostileNames, null].entries()) {
    const person = { ...harness.person(20 + index), displayName };
    await withMember(harness, person, async (member) => {
      assert.equal((await find(harness, person))?.id, member.id, `named ${displayName}`);
    });
    assert.equal(await find(harness, person), null);
  }
}

async function bearsProjects(harness: ConformanceHarness): Promise<void> {
  if (!harness.hasEveryGroup) return;
  const { adapter } = harness;
  const person = harness.person(13);
  for (const project of hostileProjects) {
    const group = adapter.groupFor(toLink(project));
    assert.equal(await adapter.findMember(group, person, signal), null, `before: ${project}`);
    const member = await adapter.addMember(group, person, signal);
    const found = await adapter.findMember(group, person, signal);
    assert.equal(found?.id, member.id, `added: ${project}`);
    assert.equal(await find(harness, person), null, `elsewhere: ${project}`);
    await adapter.removeMember(group, member, signal);
    assert.equal(await adapter.findMember(group, person, signal), null, `removed: ${project}`);
  }
}

async function heedsItsSignal(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const [group] = groups;
  const [stays, stranger] = [harness.person(14), harness.person(15)];
  await withMember(harness, stays, async (member) => {
    await assert.rejects(async () => adapter.findMember(group, stays, aborted));
    await assert.rejects(async () => adapter.addMember(group, stranger, aborted));
    await assert.rejects(async () => adapter.removeMember(group, member, aborted));
    await assert.rejects(async () => adapter.check(aborted));
    if (adapter.listMembers !== undefined) await assert.rejects(list(harness, aborted));
    assert.equal((await find(harness, stays))?.id, member.id);
    assert.equal(await find(harness, stranger), null);
  });
}

function toLink(externalProjectId: string): AdapterLink {
  return { externalProjectId, externalProjectName: null };
}

/** Adds somebody to the first group for as long as `work` takes. */
async function withMember(
  harness: ConformanceHarness,
  person: Person,
  work: (member: Member) => Promise<void>,
): Promise<void> {
  const member = await add(harness, person);
  try {
    await work(member);
  } finally {
    await remove(harness, member);
  }
}

async function find(
  { adapter, groups: [group] }: ConformanceHarness,
  person: Person,
): Promise<Member | null> {
  return await adapter.findMember(group, person, signal);
}

async function add({ adapter, groups: [group] }: ConformanceHarness, person: Person) {
  return await adapter.addMember(group, person, signal);
}

async function remove({ adapter, groups: [group] }: ConformanceHarness, member: Member) {
  await adapter.removeMember(group, member, signal);
}

async function list(
  { adapter, groups: [group] }: ConformanceHarness,
  until = signal,
): Promise<Member[]> {
  const members: Member[] = [];
  for await (const member of adapter.listMembers?.(group, until) ?? []) members.push(member);
  return members;
}

async function assertListed(harness: ConformanceHarness, id: string, times: number): Promise<void> {
  if (harness.adapter.listMembers === undefined) return;
  const ids = (await list(harness)).map((member) => member.id);
  assert.equal(ids.filter((listed) => listed === id).length, times, 'how often it is listed');
}
