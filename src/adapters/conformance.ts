import assert from 'node:assert/strict';
import type { Adapter, AdapterLink, Person } from './adapter.ts';
import { guardAdapter } from './adapter-schema.ts';
import { accountCases } from './conformance/account-cases.ts';
import { faultCases } from './conformance/fault-cases.ts';
import { type ConformanceCase, type ConformanceHarness, NotAccepted, toCase } from './conformance/harness.ts';
import { listCases, membershipCases } from './conformance/membership-cases.ts';
import { createKit } from './create-kit.ts';
import type { CreateAdapter } from './kit.ts';

export type { ConformanceHarness };

/**
 * The port's contract in executable form: what every adapter must do. The cases need no test framework.
 * Each uses people of its own and undoes its changes, so that the suite can be run against a tool that
 * is in use.
 */
export const conformanceCases: readonly ConformanceCase[] = [
  toCase('says what it can do', async ({ adapter: { capabilities } }) => {
    const { removal, readding, exclusive } = capabilities;
    if (removal.effect === 'membership_only') assert.notEqual(removal.reason.trim(), '');
    else assert.equal(removal.effect, 'locks_out');
    assert.ok(['yes', 'new_account', 'no'].includes(readding));
    assert.ok(['membership', 'group', 'tool'].includes(exclusive));
  }),
  {
    ...toCase('checks its tool', async ({ adapter, signal }) => {
      for (const { says, action } of await adapter.check(signal())) {
        assert.notEqual(says.trim(), '');
        assert.notEqual(action.trim(), '');
      }
    }),
    isNeeded: true,
  },
  toCase(
    'identifies its installation the same way every time',
    async ({ adapter, signal }) => {
      const [first, again] = [await adapter.identify?.(signal()), await adapter.identify?.(signal())];
      assert.equal(again, first);
      if (first !== null) assert.notEqual(first?.trim(), '');
    },
    ({ adapter }) => adapter.identify === undefined && 'the adapter identifies no installation',
  ),
  ...membershipCases,
  ...listCases,
  ...accountCases,
  ...strangerCases,
  ...faultCases,
];

/** An adapter as Gangway runs it. @param create its default export @param settings what is under `tools.<name>` */
export async function openAdapter(create: CreateAdapter, settings: Record<string, unknown>): Promise<Adapter> {
  return guardAdapter(await create(createKit('test', settings)));
}

export interface ConformanceResult {
  name: string;
  outcome: 'ok' | 'failed' | 'skipped';
  /** Why it was skipped, or what failed. It may quote the tool, so mask it before you show it. */
  reason?: string;
}

/** Runs one case after the other. A case that fails does not stop the others, unless they need it. */
export async function* runConformance(
  harness: ConformanceHarness,
  cases = conformanceCases,
): AsyncGenerator<ConformanceResult> {
  for (const one of cases) {
    const result = await runCase(harness, one);
    yield result;
    if (result.outcome === 'failed' && one.isNeeded) return;
  }
}

async function runCase(harness: ConformanceHarness, { name, skip, run }: ConformanceCase): Promise<ConformanceResult> {
  const reason = skip?.(harness) ?? null;
  if (reason !== null) return { name, outcome: 'skipped', reason };
  try {
    await run(harness);
    return { name, outcome: 'ok' };
  } catch (error) {
    const outcome = error instanceof NotAccepted ? 'skipped' : 'failed';
    return { name, outcome, reason: error instanceof Error ? error.message : 'failed' };
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

/** Texts that strangers choose: names, addresses, project ids. */
const strangerCases: readonly ConformanceCase[] = [
  toCase('maps a link to the same group every time', async ({ adapter }) => {
    for (const externalProjectId of ['street-signs', ...hostileProjects]) {
      const first = adapter.groupFor(toLink(externalProjectId));
      assert.equal(typeof first, 'string');
      assert.equal(adapter.groupFor(toLink(externalProjectId)), first);
      const renamed = { externalProjectId, externalProjectName: 'another name' };
      assert.equal(adapter.groupFor(renamed), first, 'a name is for showing only');
    }
  }),

  toCase(
    'knows one form of a project id, and the same every time',
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
    ({ adapter }) => adapter.canonicalGroup === undefined && 'the adapter knows no form of ids',
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

  // A tool may refuse an odd address, but must not confuse it with another one.
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
    ({ hasEveryGroup }) => !hasEveryGroup && 'its groups are made elsewhere',
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
