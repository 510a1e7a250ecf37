import assert from 'node:assert/strict';
import { isSameAddress } from '../../lib/text.ts';
import type { AdapterLink, Member, Person } from '../adapter.ts';
import { aborted, type Bench, type ConformanceCase, type ConformanceHarness, toCase } from './harness.ts';

/** Who made an account. An account that existed before is never ended. */
export const accountCases: readonly ConformanceCase[] = [
  toCase(
    'gives one account another address',
    async ({ adapter, firstGroup, toPerson, signal, withMember, find }) => {
      const [person, other] = [toPerson(13), toPerson(15)];
      const { email } = toPerson(14);
      await withMember(person, async (member) => {
        await withMember(other, async ({ id: otherId }) => {
          const update = async (given: AbortSignal) => await adapter.updateEmail?.(firstGroup, member, email, given);
          await assert.rejects(update(aborted), 'a call that was given up is not made');
          const known = { ...person, memberId: member.id };
          assert.equal((await find(known))?.email, member.email);
          // The second call finds the address changed already.
          for (const _ of [1, 2]) await update(signal());
          const found = await find(known);
          assert.equal(found?.id, member.id, 'the account is the same');
          assert.equal(found?.email?.toLowerCase(), email.toLowerCase(), 'it has the address');
          const kept = await find({ ...other, memberId: otherId });
          assert.equal(kept?.email?.toLowerCase(), other.email.toLowerCase(), 'other accounts keep theirs');
        });
      });
    },
    ({ adapter }) => adapter.updateEmail === undefined && 'the adapter changes no addresses',
  ),

  toCase(
    'says whether it made an account',
    async ({ adapter, firstGroup, toPerson, signal, findAccount, cleanUp }) => {
      const person = toPerson(80);
      const before = await findAccount(person);
      const added = await adapter.addMember(firstGroup, person, signal());
      // For people who sign up themselves, the tool says when the account was created.
      if (added.isUnlisted) return;
      try {
        const isKnown = added.account !== undefined || adapter.findAccount !== undefined;
        assert.ok(isKnown, 'an adapter that changes accounts says who created them');
        assert.equal(before ?? null, null, 'a person without an account is not found');
        assert.notEqual(added.account, 'found', 'the account of a new person was not found but made');
        const after = await findAccount(person);
        if (after !== undefined) assert.equal(after?.id, added.id, 'the account is found by its address');
        const again = await adapter.addMember(firstGroup, person, signal());
        assert.notEqual(again.account, 'made', 'an existing account is not made again');
      } finally {
        await cleanUp(added);
      }
    },
    skipsWithoutAccounts,
  ),

  toCase(
    'keeps the account of a member that it removes from a group',
    async (bench) => {
      const { adapter, firstGroup, signal } = bench;
      const person = bench.toPerson(81);
      const added = await adapter.addMember(firstGroup, person, signal());
      if (added.isUnlisted) return;
      try {
        const isOut = await tryToRemove(bench, added);
        assert.equal((await bench.findAccount(person))?.id, added.id, 'the account still exists');
        if (isOut) assert.equal(await bench.find(person), null);
      } finally {
        await bench.cleanUp(added);
      }
    },
    ({ adapter }) => adapter.findAccount === undefined && 'the adapter looks for no accounts',
  ),

  toCase(
    'ends no account that it did not make',
    async (bench) => {
      const { harness, adapter, firstGroup, signal } = bench;
      const person = bench.toPerson(82);
      await harness.seedAccount?.(person);
      const before = await bench.findAccount(person);
      const isThere = await bench.find(person);
      const added = isThere ?? (await adapter.addMember(firstGroup, person, signal()));
      const isFound = before != null || isThere !== null || ('account' in added && added.account === 'found');
      assert.ok(isFound, 'the adapter says that it found an account that existed before');
      await tryToRemove(bench, added);
      assert.equal(await harness.hasAccount?.(person), true, 'the owner of an existing account can still get in');
    },
    (harness) =>
      harness.seedAccount === undefined ? 'only the adapter can create an account here' : skipsWithoutAccounts(harness),
  ),

  toCase(
    'shows the new owner of an id that was given out again',
    async ({ harness, adapter, toPerson, signal, add, find, cleanUp }) => {
      const [person, other] = [toPerson(83), toPerson(84)];
      const { id } = await add(person);
      await harness.giveOut?.(id, other.email);
      for (const shown of [await find({ ...person, memberId: id }), await adapter.findAccountById?.(id, signal())]) {
        if (shown?.id !== id) continue;
        assert.ok(isSameAddress(shown.email, other.email), 'the new owner is shown with their own address');
      }
      assert.equal(await find(person), null, 'no member has the old address');
      const again = await add(person);
      assert.notEqual(again.id, id, 'they get an account of their own');
      await cleanUp(again);
      const left = await find(other);
      assert.equal(left?.id, id, 'the new owner of the id stays a member');
      if (left !== null) await cleanUp(left);
    },
    ({ giveOut }) => giveOut === undefined && 'no id is given out again here',
  ),
];

function skipsWithoutAccounts({ adapter: { removeAccount, updateEmail } }: ConformanceHarness): string | false {
  return removeAccount === undefined && updateEmail === undefined && 'the adapter changes no accounts';
}

/** @returns false if the adapter refuses, because it would have to end the account */
async function tryToRemove({ remove }: Bench, member: Member): Promise<boolean> {
  try {
    await remove(member);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'conflict') return false;
    throw error;
  }
}

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

/** Names, addresses and project ids, which strangers choose. */
export const strangerCases: readonly ConformanceCase[] = [
  toCase('maps a link to the same group every time', async ({ adapter }) => {
    for (const externalProjectId of ['street-signs', ...hostileProjects]) {
      const first = adapter.groupFor(toLink(externalProjectId));
      assert.equal(typeof first, 'string');
      assert.equal(adapter.groupFor(toLink(externalProjectId)), first);
      const renamed = { externalProjectId, externalProjectName: 'another name' };
      assert.equal(adapter.groupFor(renamed), first, 'a name is only for showing');
    }
  }),

  toCase(
    'knows one canonical form of a project id, the same every time',
    async ({ adapter, groups }) => {
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
    },
    ({ adapter }) => adapter.canonicalGroup === undefined && 'the adapter knows no canonical form of ids',
  ),

  toCase('accepts every name', async ({ toPerson, withMember, find }) => {
    for (const [index, displayName] of [...hostileNames, null].entries()) {
      const person = { ...toPerson(20 + index), displayName };
      await withMember(person, async ({ id }) => {
        assert.equal((await find(person))?.id, id, `named ${displayName}`);
      });
      assert.equal(await find(person), null);
    }
  }),

  // Part of an address, or an address with a wildcard, must not find another person.
  toCase('does not confuse people with similar addresses', async ({ toPerson, withMember, find }) => {
    const person = toPerson(37);
    const withEmail = (email: string): Person => ({ ...toPerson(38), email });
    const longer = withEmail(`x${person.email}`);
    const alike = [`${person.email}.example`, person.email.slice(1), person.email.replace('.', '_')];
    await withMember(person, async ({ id }) => {
      for (const email of [longer.email, ...alike, person.email.replace(/^./, '%')]) {
        assert.equal(await refusable(find(withEmail(email))), null, email);
      }
      assert.equal((await find(person))?.id, id);
    });
    await withMember(longer, async () => {
      assert.equal(await find(person), null, 'a longer address with the same end is another');
    });
  }),

  // A tool may refuse an odd address, but must not take it for another one.
  toCase('accepts every address, or refuses it', async ({ toPerson, add, find, cleanUp }) => {
    for (const [index, mailbox] of hostileMailboxes.entries()) {
      const person = toPerson(40 + index);
      const odd = { ...toPerson(70 + index), email: `${mailbox}${person.email}` };
      const member = await refusable(add(odd));
      assert.equal(await find(person), null, `taken for ${odd.email}`);
      if (member === null) continue;
      try {
        assert.equal((await find(odd))?.id, member.id, odd.email);
      } finally {
        await cleanUp(member);
      }
      assert.equal(await find(odd), null, odd.email);
    }
  }),

  // A tool may refuse an odd id, but must not put the person into another group.
  toCase(
    'accepts every project id, or refuses it',
    async ({ adapter, toPerson, add, find, remove }) => {
      const person = toPerson(13);
      for (const project of hostileProjects) {
        const group = adapter.groupFor(toLink(project));
        assert.equal(await refusable(find(person, group)), null, `before: ${project}`);
        const member = await refusable(add(person, group));
        assert.equal(await find(person), null, `elsewhere: ${project}`);
        if (member === null) continue;
        assert.equal((await find(person, group))?.id, member.id, `added: ${project}`);
        await remove(member, group);
        assert.equal(await find(person, group), null, `removed: ${project}`);
      }
    },
    ({ hasEveryGroup }) => !hasEveryGroup && 'groups are created elsewhere',
  ),
];

function toLink(externalProjectId: string): AdapterLink {
  return { externalProjectId, externalProjectName: null };
}

/** Null if the tool or the adapter refuses the call. */
async function refusable<T>(call: Promise<T>): Promise<T | null> {
  return await call.catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'invalid') return null;
    throw error;
  });
}
