import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld, type UsageWorld } from '../../support/usage-harness.ts';

const employee = 'erin@lab.example';
const two = { seconds: 200, tasks: 2, labels: 6 };

describeAnyDatabase('work under an id that a restored tool gave to another account', (openFresh) => {
  let world: UsageWorld;
  let first: ReturnType<UsageWorld['hire']>;
  let second: ReturnType<UsageWorld['hire']>;

  /** Each has done two pieces today, which were reported. */
  beforeEach(async () => {
    world = await openUsageWorld(await openFresh());
    await world.link('signs');
    [first, second] = [world.hire(), world.hire()];
    await world.learn();
    for (const { memberId, email } of [first, second]) world.tool.emails.set(memberId, email);
    for (const item of ['a', 'b']) world.work(item, first.memberId);
    for (const item of ['c', 'd']) world.work(item, second.memberId);
    world.engine.clock.advance(60_000);
    await world.read();
    await world.report();
    expect(consumed()).toEqual([two, two]);
  });

  const consumed = () => [first, second].map(({ contractId }) => world.consumed(contractId));

  async function readAndReport(): Promise<void> {
    world.engine.clock.advance(60_000);
    for (const isComplete of [false, true]) await world.read(isComplete);
    await world.report();
  }

  async function setMemberId({ trainerId }: { trainerId: string }, memberId: string) {
    const { database } = world.engine;
    await inTransaction(database, (tx) =>
      tx.updateTable('membership').set({ memberId }).where('trainerId', '=', trainerId).execute(),
    );
  }

  it('is not reported as theirs, and does not lower their days, with or without work of its own', async () => {
    world.tool.emails.set(first.memberId, employee);
    world.tool.erase('a', 'b');
    await readAndReport();
    expect(consumed()).toEqual([two, two]);
    world.work('e', first.memberId);
    await readAndReport();
    expect(consumed()).toEqual([two, two]);
  });

  it('makes Gangway look at the membership', async () => {
    world.tool.emails.set(first.memberId, employee);
    world.work('e', first.memberId);
    await world.read();
    const rows = await world.engine.membershipRows();
    const due = rows.filter(({ nextAttemptAt }) => nextAttemptAt !== null);
    expect(due.map(({ trainerId }) => trainerId)).toEqual([first.trainerId]);
  });

  it('is kept apart if two trainers have swapped ids', async () => {
    world.tool.items.get('signs')?.clear();
    world.tool.emails.set(first.memberId, second.email);
    world.tool.emails.set(second.memberId, first.email);
    await setMemberId(first, second.memberId);
    await setMemberId(second, first.memberId);
    world.work('e', second.memberId);
    await readAndReport();
    expect(consumed()).toEqual([{ seconds: 300, tasks: 3, labels: 9 }, two]);
  });

  it('counts as theirs again once an operator says so', async () => {
    world.tool.emails.set(first.memberId, employee);
    world.work('e', first.memberId);
    await readAndReport();
    world.tool.emails.set(first.memberId, first.email);
    await readAndReport();
    expect(consumed()).toEqual([{ seconds: 300, tasks: 3, labels: 9 }, two]);
  });
});
