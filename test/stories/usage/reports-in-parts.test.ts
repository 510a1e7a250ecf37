import { expect, it } from 'vitest';
import { describeAnyDatabase } from '../../support/tries.ts';
import { type ItemWork, openUsageWorld } from '../../support/usage-harness.ts';

describeAnyDatabase('what is reported in parts', (openFresh) => {
  /** More trainers than a part has, which is 25: thirty on one contract, and eight on one each. */
  async function openCrowd() {
    const world = await openUsageWorld(await openFresh());
    const { engine, sandbox, tool, jobId } = world;
    await world.link('signs');
    const trainers = Array.from({ length: 30 }, (_, index) => ({
      opentrainUserId: `crew${index}`,
    }));
    const { contractId } = sandbox.hire({ jobId, trainers });
    const alone = Array.from({ length: 8 }, () => world.hire());
    await world.learn();
    const at = engine.clock.now().toISOString();
    const members = [...trainers.map((one) => `m${one.opentrainUserId}`), ...alone.map((one) => one.memberId)];
    const items = members.map((memberId): [string, ItemWork] => [memberId, { memberId, seconds: 60, labels: 1, at }]);
    tool.items.set('signs', new Map(items));
    engine.clock.advance(60_000);
    await world.read();
    return { ...world, contractId, alone };
  }

  it('needs the fewest requests: one for all trainers of a contract', async () => {
    const { report, consumed, requests, contractId, alone } = await openCrowd();
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 38, requests: 9, left: 0 });
    expect(consumed(contractId)).toEqual({ seconds: 1800, tasks: 30, labels: 30 });
    expect(new Set(requests.map((one) => one.contractId)).size).toBe(9);
    for (const one of alone) expect(consumed(one.contractId).seconds).toBe(60);
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });

  it('is sent by one of two instances that report at once', async () => {
    const { report, requests } = await openCrowd();
    await Promise.all([report(), report()]);
    expect(requests.filter(({ entries }) => entries.length === 30)).toHaveLength(1);
    expect(requests).toHaveLength(9);
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });
});
