import { expect, it } from 'vitest';
import { listScopes } from '../../../src/usage/read/scope-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { troublesIn } from '../../support/troubles.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;

describeEachDatabase('usage', (openFresh) => {
  /** Two people at work on `signs`: each has done two pieces today. */
  async function openWork(options: Parameters<typeof openUsageWorld>[1] = {}) {
    const world = await openUsageWorld(await openFresh(), options);
    await world.link('signs');
    const [first, second] = [world.hire(), world.hire()];
    await world.learn();
    for (const item of ['a', 'b']) world.work(item, first.memberId);
    for (const item of ['c', 'd']) world.work(item, second.memberId);
    world.engine.clock.advance(60_000);
    await world.read();
    return { ...world, first, second };
  }

  const two = { seconds: 200, tasks: 2, labels: 6 };
  const one = { seconds: 100, tasks: 1, labels: 3 };

  it('is reported once, and nothing is sent if nothing has changed', async () => {
    const { report, consumed, requests, first, second, read } = await openWork();
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 2, requests: 2, held: 0 });
    expect([consumed(first.contractId), consumed(second.contractId)]).toEqual([two, two]);
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0, requests: 0 });
    expect(requests).toHaveLength(2);
  });

  it('is added up over two links of one job', async () => {
    const world = await openWork();
    await world.link('lamps');
    await world.learn();
    const lamp = { memberId: world.first.memberId, seconds: 100, labels: 3 };
    const at = world.engine.clock.now().toISOString();
    world.tool.items.set('lamps', new Map([['lamp', { ...lamp, at }]]));
    await world.read();
    expect(await world.report()).toMatchObject({ sent: 2, held: 0 });
    expect(world.consumed(world.first.contractId)).toEqual({ seconds: 300, tasks: 3, labels: 9 });
    expect(world.consumed(world.second.contractId)).toEqual(two);
  });

  it('is lowered by a deletion after a complete reading', async () => {
    const { report, read, tool, consumed, first } = await openWork();
    await report();
    tool.erase('a');
    await read();
    expect(await report()).toMatchObject({ sent: 0 });
    await read(true);
    expect(await report()).toMatchObject({ sent: 1, lowered: 1 });
    expect(consumed(first.contractId)).toEqual(one);
  });

  it('stays reported if its task was deleted, however much it is', async () => {
    const { report, read, tool, consumed, first, second } = await openWork();
    await report();
    tool.deleteTasks('a', 'b', 'c');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    expect([consumed(first.contractId), consumed(second.contractId)]).toEqual([two, two]);
    tool.erase('d');
    await read(true);
    expect(await report()).toMatchObject({ sent: 1, lowered: 1 });
    expect(consumed(second.contractId)).toEqual(one);
  });

  it('is lowered by deleted tasks if that is configured', async () => {
    const world = await openWork({ deletedTasks: 'lower' });
    const { report, read, tool, consumed, first } = world;
    await report();
    tool.deleteTasks('a', 'b');
    await read(true);
    expect(await report()).toMatchObject({ sent: 1, lowered: 1 });
    expect(consumed(first.contractId)).toEqual({ seconds: 0, tasks: 0, labels: 0 });
  });

  it('stays reported if the tool does not say whether its task exists', async () => {
    const { report, read, tool, consumed, first } = await openWork();
    await report();
    tool.tellsTasks = false;
    tool.erase('a');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    expect(consumed(first.contractId)).toEqual(two);
  });

  it('is lowered to an explicit zero if all of it was deleted', async () => {
    const { report, read, tool, consumed, requests, first } = await openWork();
    await report();
    tool.erase('a', 'b');
    await read(true);
    await report();
    expect(consumed(first.contractId)).toEqual({ seconds: 0, tasks: 0, labels: 0 });
    expect(requests.at(-1)?.entries).toMatchObject([{ totalSeconds: 0, tasksCompleted: 0, labelsCompleted: 0 }]);
  });

  it('does not change after a truncated export', async () => {
    const { report, read, tool, consumed, ctx, first, second } = await openWork();
    await report();
    tool.breaksAfter = 1;
    await read(true);
    expect(await listScopes(ctx)).toMatchObject([{ attempts: 1, failure: 'The export broke off' }]);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    expect([consumed(first.contractId), consumed(second.contractId)]).toEqual([two, two]);
  });

  it('stays if the account was deleted', async () => {
    const { report, read, tool, consumed, first } = await openWork();
    await report();
    tool.erase('a', 'b');
    tool.gone.add(first.memberId);
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    expect(consumed(first.contractId)).toEqual(two);
  });

  it('stays after the trainer was removed, also if they are let in again', async () => {
    const { engine, report, read, learn, tool, consumed, sandbox, jobId, first } = await openWork();
    await report();
    sandbox.endContract(first.contractId);
    await learn();
    tool.erase('a', 'b');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    engine.clock.advance(48 * hourMs);
    sandbox.hire({ jobId, trainers: [{ opentrainUserId: first.trainerId }] });
    await learn();
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    expect(consumed(first.contractId)).toEqual(two);
  });

  it('is sent again if the answer was lost, and once more in case the request arrives late', async () => {
    const world = await openWork();
    const { engine, report, read, consumed, fates, first } = world;
    fates.push('lost');
    const lost = await report({ contractId: first.contractId });
    expect(lost).toMatchObject({ outcome: 'failed', left: 1 });
    world.work('a', first.memberId, { seconds: 500 });
    engine.clock.advance(60_000);
    await read();
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 2 });
    await world.arrive();
    expect(consumed(first.contractId)).toEqual(two);
    expect(await report()).toMatchObject({ outcome: 'clean' });
    engine.clock.advance(hourMs);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 1 });
    expect(consumed(first.contractId)).toEqual({ ...two, seconds: 600 });
    engine.clock.advance(hourMs);
    expect(await report()).toMatchObject({ outcome: 'clean' });
  });

  it('stays in doubt if a second answer comes before the lost request arrives', async () => {
    const world = await openWork();
    const { engine, report, read, consumed, fates, first } = world;
    const { contractId } = first;
    const more = async (seconds: number) => {
      engine.clock.advance(60_000);
      world.work('a', first.memberId, { seconds });
      await read();
      return await report({ contractId });
    };
    fates.push('lost');
    await report({ contractId });
    expect(await more(200)).toMatchObject({ sent: 1 });
    expect(await more(300)).toMatchObject({ sent: 1 });
    await world.arrive();
    expect(consumed(contractId)).toEqual(two);
    engine.clock.advance(10 * 60_000);
    expect(await report({ contractId })).toMatchObject({ sent: 1 });
    expect(consumed(contractId)).toEqual({ ...two, seconds: 400 });
    expect(await report({ contractId })).toMatchObject({ outcome: 'clean' });
  });

  it('is in doubt after a crash, and the next run sends it', async () => {
    const { engine, report, consumed, fates, first, second } = await openWork();
    fates.push('crash', 'unheard');
    expect(await report()).toMatchObject({ outcome: 'failed' });
    const rows = await engine.rows('usageLedger');
    expect(rows).toMatchObject([{ state: 'in_doubt' }, { state: 'in_doubt' }]);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 2 });
    expect([consumed(first.contractId), consumed(second.contractId)]).toEqual([two, two]);
  });

  it('is held if a run would lower too much, even after new days make it a small part, and the rest is sent', async () => {
    const world = await openWork({ maxLoweredFraction: 0.4 });
    const { report, read, tool, consumed, first, second, engine } = world;
    await report();
    tool.erase('a', 'b');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'held', held: 1, lowered: 0 });
    expect(await troublesIn(engine)).toMatchObject([{ kind: 'usage_lowering', install: 'acme', count: 1 }]);
    for (let day = 0; day < 3; day += 1) {
      engine.clock.advance(24 * hourMs);
      world.work(`later ${day}`, second.memberId);
      await read(true);
      expect(await report()).toMatchObject({ outcome: 'held', sent: 1, held: 1, lowered: 0 });
    }
    expect(consumed(first.contractId)).toEqual(two);
    const elsewhere = await report({ acceptsLowered: true, contractId: second.contractId });
    expect(elsewhere).toMatchObject({ lowered: 0 });
    expect(await report({ acceptsLowered: true })).toMatchObject({
      outcome: 'applied',
      lowered: 1,
    });
    expect(consumed(first.contractId)).toEqual({ seconds: 0, tasks: 0, labels: 0 });
    expect(await report()).toMatchObject({ outcome: 'clean', held: 0 });
  });

  it('is released from the brake when it rises again, and counts until then', async () => {
    const world = await openWork({ maxLoweredFraction: 0.5 });
    const { report, read, tool, consumed, first, second, engine } = world;
    await report();
    const at = engine.clock.now().toISOString();
    tool.erase('a', 'c');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'held', held: 2 });
    world.work('a', first.memberId, { at });
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'held', held: 1, sent: 0 });
    world.work('c', second.memberId, { at });
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'clean', held: 0 });
    tool.erase('a');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'applied', lowered: 1 });
    expect(consumed(first.contractId)).toEqual(one);
  });

  it('is sent without an entry that the marketplace refuses', async () => {
    const world = await openWork();
    const { engine, report, read, consumed, sandbox, jobId } = world;
    const trainers = Array.from({ length: 5 }, (_, index) => ({ opentrainUserId: `crew${index}` }));
    const { contractId } = sandbox.hire({ jobId, trainers });
    await world.learn();
    for (const { opentrainUserId } of trainers) world.work(`of ${opentrainUserId}`, `m${opentrainUserId}`);
    await read();
    sandbox.replaceParticipant(contractId, { leaves: 'crew3' });
    expect(await report({ contractId })).toMatchObject({ outcome: 'failed', sent: 4, refused: 1 });
    expect(consumed(contractId)).toEqual({ seconds: 400, tasks: 4, labels: 12 });
    const refused = (await engine.rows('usageLedger')) as {
      state: string;
      message: string | null;
    }[];
    expect(refused.filter(({ state }) => state === 'refused')).toMatchObject([{ status: 400 }]);
    expect(await report({ contractId })).toMatchObject({ sent: 0, refused: 1, requests: 0 });
  });

  it('is read in parts after the first time, with an overlap, and completely once a day', async () => {
    const { engine, read, tool } = await openWork();
    engine.clock.advance(hourMs);
    await read();
    expect(tool.requests).toEqual([null, '2026-03-15T11:51:00.000Z']);
    engine.clock.advance(24 * hourMs);
    await read();
    expect(tool.requests.at(-1)).toBe(null);
  });
});
