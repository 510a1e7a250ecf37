import assert from 'node:assert/strict';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Member, Person } from '../adapter.ts';
import { add, type ConformanceCase, type ConformanceHarness, cleanUp, find, remove, signalOf } from './harness.ts';

/** Accounts: whose they are, and that nobody's is ended who was there before (design section 2). */
export const accountCases: readonly ConformanceCase[] = [
  {
    name: 'tells whether it made an account',
    skip: skipsWithoutAccounts,
    run: tellsWhoseItIs,
  },
  {
    name: 'leaves the account of whom it takes out of a group',
    skip: ({ adapter }) => (adapter.findAccount === undefined ? 'the adapter looks for no accounts' : null),
    run: leavesTheAccount,
  },
  {
    name: 'ends no account that it did not make',
    skip: (harness) =>
      harness.seedAccount === undefined
        ? 'nobody but the adapter can make an account here'
        : skipsWithoutAccounts(harness),
    run: endsNobodyElse,
  },
  {
    name: 'tells whose an id is that was given out again',
    skip: ({ giveOut }) => (giveOut === undefined ? 'no id is given out again here' : null),
    run: tellsWhoseIdItIs,
  },
];

/** Whoever has the id by now is told with their own address, and is left alone. */
async function tellsWhoseIdItIs(harness: ConformanceHarness): Promise<void> {
  const [person, other] = [harness.person(83), harness.person(84)];
  const { id } = await add(harness, person);
  await harness.giveOut?.(id, other.email);
  const shown = [
    await find(harness, { ...person, memberId: id }),
    (await harness.adapter.findAccountById?.(id, signalOf(harness))) ?? null,
  ];
  for (const one of shown) {
    if (one?.id !== id) continue;
    assert.ok(one.email !== null && isSameAddress(one.email, other.email), 'with its own address');
  }
  assert.equal(await find(harness, person), null, 'nobody has their address');
  const again = await add(harness, person);
  assert.notEqual(again.id, id, 'an account of their own');
  await cleanUp(harness, again);
  const left = await find(harness, other);
  assert.equal(left?.id, id, 'who has the id is left where they are');
  if (left !== null) await cleanUp(harness, left);
}

function skipsWithoutAccounts({ adapter }: ConformanceHarness): string | null {
  const { removeAccount, updateEmail } = adapter;
  const changesNone = removeAccount === undefined && updateEmail === undefined;
  return changesNone ? 'the adapter changes no accounts' : null;
}

/** Somebody who is new: either a look finds nobody before, or adding them says that it made them. */
async function tellsWhoseItIs(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(80);
  const { adapter, groups } = harness;
  const before = await findAccount(harness, person);
  const added = await adapter.addMember(groups[0], person, signalOf(harness));
  // Where people let themselves in, the tool has to say when their account was made.
  if (added.isUnlisted) return;
  try {
    const isTold = added.account !== undefined || adapter.findAccount !== undefined;
    assert.ok(isTold, 'an adapter that changes accounts tells whose they are');
    assert.equal(before ?? null, null, 'nobody is found who has no account');
    assert.notEqual(added.account, 'found', 'who is new was not found');
    const after = await findAccount(harness, person);
    if (after !== undefined) assert.equal(after?.id, added.id, 'the account is found by its address');
    const again = await adapter.addMember(groups[0], person, signalOf(harness));
    assert.notEqual(again.account, 'made', 'who is there already is not made');
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
    const isOut = await takesOut(harness, added);
    assert.equal((await findAccount(harness, person))?.id, added.id, 'the account is there');
    if (isOut) assert.equal(await find(harness, person), null);
  } finally {
    await cleanUp(harness, added);
  }
}

async function endsNobodyElse(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(82);
  const { adapter, groups } = harness;
  await harness.seedAccount?.(person);
  const before = await findAccount(harness, person);
  const isThere = await find(harness, person);
  const added = isThere ?? (await adapter.addMember(groups[0], person, signalOf(harness)));
  const isFound = before != null || isThere !== null || ('account' in added && added.account === 'found');
  assert.ok(isFound, 'an account that was there before is told to be found');
  await takesOut(harness, added);
  assert.equal(await harness.hasAccount?.(person), true, 'who was there before can still get in');
}

/** @returns false where there is nothing to take but the account, which is refused */
async function takesOut(harness: ConformanceHarness, member: Member): Promise<boolean> {
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
