import { expect, it } from 'vitest';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const crowd = 40;

describeAnyDatabase('a reading of work', (openFresh) => {
  async function open() {
    const database = await openFresh();
    const transact = database.transact.bind(database);
    let transactions = 0;
    const world = await openUsageWorld({
      ...database,
      transact(work, isDurable) {
        transactions += 1;
        return transact(work, isDurable);
      },
    });
    await world.link('signs');
    const hired = Array.from({ length: crowd }, () => world.hire());
    await world.learn();
    for (const { memberId, email } of hired) {
      world.tool.emails.set(memberId, email);
      world.work(`one of ${memberId}`, memberId);
    }
    world.engine.clock.advance(60_000);
    async function countRead(isComplete: boolean): Promise<number> {
      world.engine.clock.advance(60_000);
      const before = transactions;
      await world.read(isComplete);
      return transactions - before;
    }
    await countRead(true);
    return { world, hired, countRead };
  }

  it('writes nothing about members without new work', async () => {
    const { world, hired, countRead } = await open();
    expect(await countRead(true)).toBeLessThan(crowd);
    const ofNobody = await countRead(false);
    expect(ofNobody).toBeLessThan(crowd);
    for (const { memberId } of hired.slice(0, 3)) world.work(`two of ${memberId}`, memberId);
    expect(await countRead(false)).toBe(ofNobody + 1);
  });

  it('writes grown, lowered and removed work, and the state of members who were removed since', async () => {
    const { world, hired, countRead } = await open();
    const [grown, shrunk, gone, ended] = hired;
    if (!grown || !shrunk || !gone || !ended) throw new Error('too few were hired');
    await world.report();
    const ofNobody = await countRead(true);
    world.work(`one of ${grown.memberId}`, grown.memberId, { seconds: 150 });
    world.work(`one of ${shrunk.memberId}`, shrunk.memberId, { seconds: 50 });
    world.tool.erase(`one of ${gone.memberId}`);
    expect(await countRead(true)).toBe(ofNobody + 1);
    world.sandbox.endContract(ended.contractId);
    await world.learn();
    expect(await countRead(true)).toBe(ofNobody + 1);
    await world.report();
    const consumed = (one: { contractId: string }) => world.consumed(one.contractId).seconds;
    expect([grown, shrunk, gone, ended].map(consumed)).toEqual([150, 50, 0, 100]);
  });
});
