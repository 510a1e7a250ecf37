import assert from 'node:assert/strict';
import { aborted, type ConformanceCase, type ConformanceHarness, find, signalOf, withMember } from './harness.ts';

/** Accounts that are given another address. */
export const addressCases: readonly ConformanceCase[] = [
  { name: 'gives one account another address', skip: skipsWithoutUpdate, run: updatesOne },
];

function skipsWithoutUpdate({ adapter }: ConformanceHarness): string | null {
  return adapter.updateEmail === undefined ? 'the adapter changes no addresses' : null;
}

async function updatesOne(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const [person, other] = [harness.person(13), harness.person(15)];
  const { email } = harness.person(14);
  await withMember(harness, person, async (member) => {
    await withMember(harness, other, async ({ id: otherId }) => {
      const update = (signal: AbortSignal) =>
        adapter.updateEmail?.(groups[0], member, email, signal) ?? Promise.resolve();
      await assert.rejects(update(aborted), 'a call that was given up is not made');
      const known = { ...person, memberId: member.id };
      assert.equal((await find(harness, known))?.email, member.email);
      // The second finds it done.
      for (const _ of [1, 2]) await update(signalOf(harness));
      const found = await find(harness, known);
      assert.equal(found?.id, member.id, 'the account is the same');
      assert.equal(found?.email?.toLowerCase(), email.toLowerCase(), 'it has the address');
      const kept = await find(harness, { ...other, memberId: otherId });
      assert.equal(kept?.email?.toLowerCase(), other.email.toLowerCase(), 'others keep theirs');
    });
  });
}
