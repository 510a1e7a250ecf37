import { expect, it } from 'vitest';
import { holdLock } from '../../../src/db/lock.ts';
import { brakeDue } from '../../../src/removals/removal-worker.ts';
import { scopeOfLink } from '../../../src/usage/read/scope-store.ts';
import { reportNextFinal } from '../../../src/usage/report/report-worker.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const minuteMs = 60_000;

describeAnyDatabase('what is read before a removal', (openFresh) => {
  /** Two people who have worked; the contract of one has ended, and their work is to be read. */
  async function openEnd() {
    const database = await openFresh();
    const world = await openUsageWorld(database);
    const { engine, sandbox, tool } = world;
    await world.link('signs');
    const [leaving, staying] = [world.hire(), world.hire()];
    await world.learn();
    await world.read();
    engine.clock.advance(minuteMs);
    const at = engine.clock.now().toISOString();
    const work = (id: string, { memberId }: { memberId: string }, seconds: number) => {
      const items = tool.items.get('signs') ?? new Map();
      tool.items.set('signs', items.set(id, { memberId, seconds, labels: 1, at }));
    };
    work('last', leaving, 60);
    work('other', staying, 60);
    sandbox.endContract(leaving.contractId);
    await world.learn();
    await brakeDue(engine, { ...engine.braking, scopeOf: (link) => scopeOfLink(world.ctx, link) });
    const { signal } = new AbortController();
    const reportFinal = () => reportNextFinal(world.ctx, async () => undefined, signal);
    const seconds = ({ contractId }: { contractId: string }) => world.consumed(contractId).seconds;
    return { ...world, leaving, staying, work, reportFinal, seconds };
  }

  it('is reported at once and once, for the ended contract only', async () => {
    const { reportFinal, read, seconds, leaving, staying, requests } = await openEnd();
    expect(await reportFinal()).toBe(false);
    await read();
    expect(await reportFinal()).toBe(true);
    expect([seconds(leaving), seconds(staying)]).toEqual([60, 0]);
    expect(await reportFinal()).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it('is reported by one of several instances', async () => {
    const { reportFinal, read, requests } = await openEnd();
    await read();
    await Promise.all([reportFinal(), reportFinal(), reportFinal()]);
    expect(requests).toHaveLength(1);
  });

  it('is tried again after a crash, and later work is left to the schedule', async () => {
    const { engine, reportFinal, read, report, seconds, leaving, fates, work } = await openEnd();
    await read();
    fates.push('crash');
    expect(await reportFinal()).toBe(true);
    expect([seconds(leaving), await reportFinal()]).toEqual([0, false]);
    engine.clock.advance(minuteMs);
    expect(await reportFinal()).toBe(true);
    expect(seconds(leaving)).toBe(60);
    work('found later', leaving, 30);
    await read();
    expect([await reportFinal(), seconds(leaving)]).toEqual([false, 60]);
    await report();
    expect(seconds(leaving)).toBe(90);
  });

  it('is taken over from an instance that died', async () => {
    const { engine, ctx, reportFinal, read, seconds, leaving } = await openEnd();
    await read();
    const until = new Date(engine.clock.now().getTime() + 5 * minuteMs).toISOString();
    const name = `usage:${JSON.stringify(['acme', leaving.contractId])}`;
    await holdLock(ctx.database, name, 'dead', engine.clock.now().toISOString(), until);
    expect([await reportFinal(), seconds(leaving)]).toEqual([true, 0]);
    engine.clock.advance(5 * minuteMs);
    expect([await reportFinal(), seconds(leaving)]).toEqual([true, 60]);
  });
});
