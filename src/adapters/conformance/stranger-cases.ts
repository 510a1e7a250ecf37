import assert from 'node:assert/strict';
import type { Person } from '../adapter.ts';
import {
  add,
  type ConformanceCase,
  type ConformanceHarness,
  cleanUp,
  find,
  remove,
  toLink,
  withMember,
} from './harness.ts';

/** Texts that strangers choose: names, addresses, project ids. */
export const strangerCases: readonly ConformanceCase[] = [
  { name: 'maps a link to the same group every time', run: mapsPurely },
  {
    name: 'knows one form of a project id, and the same every time',
    skip: ({ adapter }) => (adapter.canonicalGroup === undefined ? 'the adapter knows no form of ids' : null),
    run: knowsOneForm,
  },
  { name: 'accepts every name', run: acceptsNames },
  { name: 'does not confuse people with similar addresses', run: keepsSimilarApart },
  { name: 'accepts every address, or refuses it', run: acceptsAddresses },
  {
    name: 'accepts every project id, or refuses it',
    skip: ({ hasEveryGroup }) => (hasEveryGroup ? null : 'its groups are made elsewhere'),
    run: acceptsProjects,
  },
];

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

const hostileMailboxes = ['plus+tag.', "o'neil.", 'a&b=c.', 'per%40cent.', 'under_score.', '{email}.'];

async function mapsPurely({ adapter }: ConformanceHarness): Promise<void> {
  for (const externalProjectId of ['street-signs', ...hostileProjects]) {
    const first = adapter.groupFor(toLink(externalProjectId));
    assert.equal(typeof first, 'string');
    assert.equal(adapter.groupFor(toLink(externalProjectId)), first);
    const renamed = { externalProjectId, externalProjectName: 'another name' };
    assert.equal(adapter.groupFor(renamed), first, 'a name is for showing only');
  }
}

async function knowsOneForm({ adapter, groups }: ConformanceHarness): Promise<void> {
  for (const project of ['street-signs', '1', '01', '+1', ' 1', ...groups, ...hostileProjects]) {
    const form = adapter.canonicalGroup?.(project);
    assert.ok(typeof form === 'string' || form === null, `a text or null: ${project}`);
    assert.equal(adapter.canonicalGroup?.(project), form, `another form at another time: ${project}`);
    if (form === null) continue;
    assert.notEqual(form, '');
    assert.equal(adapter.canonicalGroup?.(form), form, `the form of a form: ${project}`);
    const group = adapter.groupFor(toLink(form));
    assert.equal(typeof group, 'string', `a group for the form: ${project}`);
  }
}

async function acceptsNames(harness: ConformanceHarness): Promise<void> {
  for (const [index, displayName] of [...hostileNames, null].entries()) {
    const person = { ...harness.person(20 + index), displayName };
    await withMember(harness, person, async (member) => {
      assert.equal((await find(harness, person))?.id, member.id, `named ${displayName}`);
    });
    assert.equal(await find(harness, person), null);
  }
}

/** A tool may refuse an odd id, but must not put the person into another group. */
async function acceptsProjects(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(13);
  for (const project of hostileProjects) {
    const group = harness.adapter.groupFor(toLink(project));
    assert.equal(await refusable(find(harness, person, group)), null, `before: ${project}`);
    const member = await refusable(add(harness, person, group));
    assert.equal(await find(harness, person), null, `elsewhere: ${project}`);
    if (member === null) continue;
    assert.equal((await find(harness, person, group))?.id, member.id, `added: ${project}`);
    await remove(harness, member, group);
    assert.equal(await find(harness, person, group), null, `removed: ${project}`);
  }
}

/** Part of an address, or an address with a wildcard, must not find another person. */
async function keepsSimilarApart(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(37);
  const withEmail = (email: string): Person => ({ ...harness.person(38), email });
  const longer = withEmail(`x${person.email}`);
  const alike = [`${person.email}.example`, person.email.slice(1), person.email.replace('.', '_')];
  await withMember(harness, person, async (member) => {
    for (const email of [longer.email, ...alike, person.email.replace(/^./, '%')]) {
      assert.equal(await refusable(find(harness, withEmail(email))), null, email);
    }
    assert.equal((await find(harness, person))?.id, member.id);
  });
  await withMember(harness, longer, async () => {
    assert.equal(await find(harness, person), null, 'a longer address with the same end is another');
  });
}

/** A tool may refuse an odd address, but must not confuse it with another one. */
async function acceptsAddresses(harness: ConformanceHarness): Promise<void> {
  for (const [index, mailbox] of hostileMailboxes.entries()) {
    const person = harness.person(40 + index);
    const odd = { ...harness.person(70 + index), email: `${mailbox}${person.email}` };
    const member = await refusable(add(harness, odd));
    assert.equal(await find(harness, person), null, `taken for ${odd.email}`);
    if (member === null) continue;
    try {
      assert.equal((await find(harness, odd))?.id, member.id, odd.email);
    } finally {
      await cleanUp(harness, member);
    }
    assert.equal(await find(harness, odd), null, odd.email);
  }
}

/** Null if the tool or the adapter refuses the call. */
async function refusable<T>(call: Promise<T>): Promise<T | null> {
  return await call.catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'invalid') return null;
    throw error;
  });
}
