import { expect, it } from 'vitest';
import { describeEachDatabase } from '../../support/databases.ts';
import { type ItemWork, openUsageWorld } from '../../support/usage-harness.ts';

describeEachDatabase('what is reported in parts', (openFresh) => {
  /** More people than a part has: sixty on one contract, and thirty on one each. */
  async function openCrowd() {
    const world = await openUsageWorld(await openFresh());
    const { engine, sandbox, tool, jobId } = world;
    await world.link('signs');
    const trainers = Array.from({ length: 60 }, (_, index) => ({
      opentrainUserId: `crew${index}`,
    }));
    const { contractId } = sandbox.hire({ jobId, trainers });
    const alone = Array.from({ length: 30 }, () => world.hire());
    await world.learn();
    const at = engine.clock.now().toISOString();
    const members = [...trainers.map((one) => `m${one.opentrainUserId}`), ...alone.map((one) => one.memberId)];
    const items = members.map((memberId): [string, ItemWork] => [memberId, { memberId, seconds: 60, labels: 1, at }]);
    tool.items.set('signs', new Map(items));
    engine.clock.advance(60_000);
    await world.read();
    return { ...world, contractId, alone };
  }

  it('goes with the least requests: those on one contract together', async () => {
    const { report, consumed, requests, contractId, alone } = await openCrowd();
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 90, requests: 31, left: 0 });
    expect(consumed(contractId)).toEqual({ seconds: 3600, tasks: 60, labels: 60 });
    expect(new Set(requests.map((one) => one.contractId)).size).toBe(31);
    for (const one of alone) expect(consumed(one.contractId).seconds).toBe(60);
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });

  it('is sent by one of two who report at once', async () => {
    const { report, requests } = await openCrowd();
    await Promise.all([report(), report()]);
    expect(requests.filter(({ entries }) => entries.length === 60)).toHaveLength(1);
    expect(requests).toHaveLength(31);
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });
});
