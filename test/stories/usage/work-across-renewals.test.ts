import { expect, it } from 'vitest';
import { decideHeld } from '../../../src/usage/due/decide-held.ts';
import { listHeld } from '../../../src/usage/due/held-store.ts';
import { attributeTrainers } from '../../../src/usage/due/refresh-due.ts';
import { type EventWish, fullEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { type ItemWork, openUsageWorld } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;

/** At noon, one person works. Each piece takes a minute and has three labels. */
describeAnyDatabase('a contract that follows another on one day', (openFresh) => {
  async function openRenewal(options: Parameters<typeof openUsageWorld>[1] = {}) {
    const world = await openUsageWorld(await openFresh(), options);
    const { engine, sandbox, jobId, tool } = world;
    await world.link('signs');
    const { contractId, trainerId, memberId } = world.hire();
    const trainers = [{ opentrainUserId: trainerId }];
    await world.learn();
    const items = new Map<string, ItemWork>();
    tool.items.set('signs', items);
    return {
      ...world,
      items,
      memberId,
      first: contractId,
      work(id: string, changes: Partial<ItemWork> = {}) {
        engine.clock.advance(60_000);
        const at = engine.clock.now().toISOString();
        items.set(id, { memberId, seconds: 60, labels: 3, at, ...changes });
      },
      pass: (hours: number) => engine.clock.advance(hours * hourMs),
      end: () => sandbox.endContract(contractId),
      renew() {
        engine.clock.advance(1000);
        return sandbox.hire({ jobId, trainers }).contractId;
      },
    };
  }

  const pieces = (count: number) => ({ seconds: 60 * count, tasks: count, labels: 3 * count });

  it('gets the work since it began, the other the work before it ended, and neither the work between', async () => {
    const { work, pass, end, renew, learn, read, report, consumed, first, ctx } = await openRenewal();
    work('a');
    await read();
    await report();
    pass(1);
    end();
    work('saved late');
    const second = renew();
    work('b');
    work('c');
    await learn();
    await read();
    expect(await report()).toMatchObject({ sent: 1, held: 1 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(2)]);
    expect(await listHeld(ctx)).toMatchObject([{ reason: 'after_end', counts: pieces(1) }]);
  });

  it('begins when its event says, before any reading', async () => {
    const { engine, ctx } = await openUsageWorld(await openFresh());
    const day = '2026-03-14';
    const said = (type: string, more: Partial<EventWish>) =>
      fullEvent({ type, project: 'signs', trainer: 't1', ...more });
    await engine.apply([
      said('contract.started', { id: '1', contract: 'old', startDate: '2026-03-10T08:00:00Z' }),
      said('contract.ended', { id: '2', contract: 'old', createdAt: `${day}T18:00:00.000Z` }),
      said('contract.started', { id: '3', contract: 'new', startDate: '2026-03-15T09:00:00Z' }),
    ]);
    const key = { tool: 'studio', scope: 'signs', memberId: 'm1', trainerId: 't1' };
    const counts = { seconds: 60, tasks: 1, labels: 3 };
    await engine.database.kysely
      .insertInto('usageDay')
      .values({ ...key, day, ...counts, isFrozen: false, seenAt: `${day}T20:00:00.000Z` })
      .execute();
    const { due, held } = await attributeTrainers(ctx, ctx.database.kysely, { trainerIds: ['t1'], fromDay: '' });
    expect(held).toEqual([]);
    expect(due).toMatchObject([{ contractId: 'old', day, counts }]);
  });

  it('takes over work that was reported for the other before the renewal was known', async () => {
    const { work, end, renew, learn, read, report, consumed, first } = await openRenewal();
    work('a');
    end();
    const second = renew();
    work('b');
    await read();
    await report();
    expect(consumed(first)).toEqual(pieces(2));
    await learn();
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 2, lowered: 1 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(1)]);
  });

  it('gets the growth of a piece since it began, also if the piece was done earlier', async () => {
    const world = await openRenewal();
    const { items, work, pass, end, renew, learn, read, report, consumed, engine, first } = world;
    const grow = async (seconds: number) => {
      const { at = '' } = items.get('a') ?? {};
      work('a', { seconds, at, changedAt: engine.clock.now().toISOString() });
      await read();
    };
    work('a');
    await read();
    pass(24);
    await grow(70);
    end();
    const second = renew();
    await grow(110);
    await learn();
    await report();
    expect(consumed(first)).toEqual({ seconds: 70, tasks: 1, labels: 3 });
    expect(consumed(second)).toEqual({ seconds: 40, tasks: 0, labels: 0 });
  });

  it('is lowered by its deleted work, and the other by its own', async () => {
    const { items, work, end, renew, learn, read, report, consumed, first } = await openRenewal();
    for (const id of ['a', 'b']) work(id);
    end();
    const second = renew();
    await learn();
    for (const id of ['c', 'd']) work(id);
    await read();
    await report();
    for (const id of ['a', 'd']) items.delete(id);
    await read();
    expect(await report()).toMatchObject({ sent: 0, held: 0 });
    await read(true);
    expect(await report()).toMatchObject({ sent: 2, lowered: 2, held: 0 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(1)]);
  });

  /** Out after the first contract, in again for the second, with a piece of work for each. */
  async function openReturn() {
    const world = await openRenewal();
    const { work, end, renew, learn, read, report, pass } = world;
    work('a');
    await read();
    await report();
    end();
    await learn();
    await read();
    pass(1);
    const second = renew();
    await learn();
    work('b');
    await read(true);
    await report();
    return { ...world, second };
  }

  it('does not change the other if it begins after a removal', async () => {
    const { consumed, first, second, work, read, report } = await openReturn();
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(1)]);
    work('c');
    await read(true);
    expect(await report()).toMatchObject({ sent: 1, held: 0 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(2)]);
  });

  it('does not make up for work of the other that was deleted since', async () => {
    const { items, consumed, first, second, work, read, report, ctx } = await openReturn();
    items.delete('a');
    work('c');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'held', sent: 0, held: 1 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(1)]);
    const [held] = await listHeld(ctx);
    expect(held).toMatchObject({ reason: 'unknown_instants', counts: pieces(2) });
    await decideHeld(ctx, { actor: 'ada', at: '' }, held?.id ?? '', second);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 2, lowered: 1, held: 0 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(0), pieces(2)]);
  });

  it('is separated by the days of its own time zone', async () => {
    const { work, pass, end, renew, learn, read, report, consumed, first } = await openRenewal({
      timeZone: 'Pacific/Kiritimati',
    });
    // The 16th began there two hours ago, but nothing can be sent before it begins in UTC.
    work('a');
    end();
    const second = renew();
    work('b');
    await learn();
    await read();
    expect(await report()).toMatchObject({ sent: 0, held: 0 });
    pass(12);
    expect(await report()).toMatchObject({ sent: 2, held: 0 });
    expect([consumed(first), consumed(second)]).toEqual([pieces(1), pieces(1)]);
  });
});
