import assert from 'node:assert/strict';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Member, Person } from '../adapter.ts';
import {
  aborted,
  add,
  type ConformanceCase,
  type ConformanceHarness,
  cleanUp,
  find,
  remove,
  signalOf,
  withMember,
} from './harness.ts';

/** Accounts: who made them, and that no account from before is ended (design section 2). */
export const accountCases: readonly ConformanceCase[] = [
  { name: 'gives one account another address', skip: skipsWithoutUpdate, run: updatesOne },
  {
    name: 'says whether it made an account',
    skip: skipsWithoutAccounts,
    run: saysWhoMadeIt,
  },
  {
    name: 'keeps the account of a member that it removes from a group',
    skip: ({ adapter }) => (adapter.findAccount === undefined ? 'the adapter looks for no accounts' : null),
    run: leavesTheAccount,
  },
  {
    name: 'ends no account that it did not make',
    skip: (harness) =>
      harness.seedAccount === undefined ? 'only the adapter can make an account here' : skipsWithoutAccounts(harness),
    run: keepsAccountsFromBefore,
  },
  {
    name: 'shows the new owner of an id that was given out again',
    skip: ({ giveOut }) => (giveOut === undefined ? 'no id is given out again here' : null),
    run: showsNewOwner,
  },
];

/** The new owner of the id is shown with their own address, and stays a member. */
async function showsNewOwner(harness: ConformanceHarness): Promise<void> {
  const [person, other] = [harness.person(83), harness.person(84)];
  const { id } = await add(harness, person);
  await harness.giveOut?.(id, other.email);
  const shown = [
    await find(harness, { ...person, memberId: id }),
    (await harness.adapter.findAccountById?.(id, signalOf(harness))) ?? null,
  ];
  for (const one of shown) {
    if (one?.id !== id) continue;
    assert.ok(
      one.email !== null && isSameAddress(one.email, other.email),
      'the new owner is shown with their own address',
    );
  }
  assert.equal(await find(harness, person), null, 'no member has their address');
  const again = await add(harness, person);
  assert.notEqual(again.id, id, 'they get an account of their own');
  await cleanUp(harness, again);
  const left = await find(harness, other);
  assert.equal(left?.id, id, 'the new owner of the id stays a member');
  if (left !== null) await cleanUp(harness, left);
}

function skipsWithoutAccounts({ adapter }: ConformanceHarness): string | null {
  const { removeAccount, updateEmail } = adapter;
  const changesNone = removeAccount === undefined && updateEmail === undefined;
  return changesNone ? 'the adapter changes no accounts' : null;
}

/** For a new person, a look before finds no account, or the addition says that it made one. */
async function saysWhoMadeIt(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(80);
  const { adapter, groups } = harness;
  const before = await findAccount(harness, person);
  const added = await adapter.addMember(groups[0], person, signalOf(harness));
  // If people sign up themselves, the tool says when the account was made.
  if (added.isUnlisted) return;
  try {
    const isKnown = added.account !== undefined || adapter.findAccount !== undefined;
    assert.ok(isKnown, 'an adapter that changes accounts says who made them');
    assert.equal(before ?? null, null, 'a person without an account is not found');
    assert.notEqual(added.account, 'found', 'the account of a new person is not one that was found');
    const after = await findAccount(harness, person);
    if (after !== undefined) assert.equal(after?.id, added.id, 'the account is found by its address');
    const again = await adapter.addMember(groups[0], person, signalOf(harness));
    assert.notEqual(again.account, 'made', 'an existing account is not made again');
  } finally {
    await cleanUp(harness, added);
  }
}

async function leavesTheAccount(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(81);
  const { adapter, groups } = harness;
  const added = await adapter.addMember(groups[0], person, signalOf(harness));
  if (added.isUnlisted) return;
  try {
    const isOut = await tryToRemove(harness, added);
    assert.equal((await findAccount(harness, person))?.id, added.id, 'the account still exists');
    if (isOut) assert.equal(await find(harness, person), null);
  } finally {
    await cleanUp(harness, added);
  }
}

async function keepsAccountsFromBefore(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(82);
  const { adapter, groups } = harness;
  await harness.seedAccount?.(person);
  const before = await findAccount(harness, person);
  const isThere = await find(harness, person);
  const added = isThere ?? (await adapter.addMember(groups[0], person, signalOf(harness)));
  const isFound = before != null || isThere !== null || ('account' in added && added.account === 'found');
  assert.ok(isFound, 'the adapter says that it found an account that existed before');
  await tryToRemove(harness, added);
  assert.equal(await harness.hasAccount?.(person), true, 'the owner of an account from before can still get in');
}

/** @returns false if the removal is refused, because it would have to end the account */
async function tryToRemove(harness: ConformanceHarness, member: Member): Promise<boolean> {
  try {
    await remove(harness, member);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'conflict') return false;
    throw error;
  }
}

async function findAccount(harness: ConformanceHarness, person: Person): Promise<Member | null | undefined> {
  return await harness.adapter.findAccount?.(person, signalOf(harness));
}

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
      // The second call finds the address changed already.
      for (const _ of [1, 2]) await update(signalOf(harness));
      const found = await find(harness, known);
      assert.equal(found?.id, member.id, 'the account is the same');
      assert.equal(found?.email?.toLowerCase(), email.toLowerCase(), 'it has the address');
      const kept = await find(harness, { ...other, memberId: otherId });
      assert.equal(kept?.email?.toLowerCase(), other.email.toLowerCase(), 'other accounts keep theirs');
    });
  });
}
