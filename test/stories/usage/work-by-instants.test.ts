import { expect, it } from 'vitest';
import { checkUsage } from '../../../src/usage/due/check-usage.ts';
import { listHeld } from '../../../src/usage/due/held-store.ts';
import { attributeTrainers } from '../../../src/usage/due/refresh-due.ts';
import { countImport } from '../../../src/usage/import/import-file.ts';
import { type EventWish, fullEvent } from '../../support/event-bodies.ts';
import { type OneWorker, openOneWorker } from '../../support/one-worker.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';
import { prepareLines } from '../../usage/import/import-harness.ts';

describeAnyDatabase('a contract from 14:00 on', (openFresh) => {
  const day = '2026-04-01';
  const openContract = async () => await openOneWorker(await openFresh(), `${day}T14:00:00.000Z`);

  it('gets nothing of 14,400 seconds at 07:00, and all work from its first second on', async () => {
    const { work, readAndReport, reported, held, setClock } = await openContract();
    work('early', 14_400, { at: `${day}T07:00:00.000Z` });
    expect(await readAndReport()).toMatchObject({ outcome: 'held', sent: 0, held: 1 });
    expect([reported(), await held()]).toEqual([{}, [`${day} 14400 before_start`]]);
    work('a', 60, { at: `${day}T14:00:00.000Z` });
    work('b', 5, { at: `${day}T13:59:59.999Z` });
    setClock(`${day}T15:00:00.000Z`);
    expect(await readAndReport()).toMatchObject({ sent: 1, held: 1 });
    expect([reported(), await held()]).toEqual([{ [day]: 60 }, [`${day} 14405 before_start`]]);
  });

  it('gets the growth of a piece since its start, and not what it had before', async () => {
    const { work, edit, readAndReport, reported, held, setClock } = await openContract();
    work('a', 3000, { at: `${day}T07:00:00.000Z` });
    await readAndReport();
    setClock(`${day}T15:00:00.000Z`);
    edit('a', 3100);
    await readAndReport();
    expect([reported(), await held()]).toEqual([{ [day]: 100 }, [`${day} 3000 before_start`]]);
  });

  it('gets the whole day of its start if only the day of the work is known', async () => {
    const world = await openContract();
    await importDays(world, `${day},${world.contractId},3600`, `2026-03-31,${world.contractId},60`);
    expect(await world.readAndReport()).toMatchObject({ sent: 1, held: 1 });
    expect([world.reported(), await world.held()]).toEqual([{ [day]: 3600 }, ['2026-03-31 60 before_start']]);
  });
});

describeAnyDatabase('a contract that ended at 14:00', (openFresh) => {
  const day = '2026-04-02';

  async function openEnd() {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
    world.setClock(`${day}T14:00:00.000Z`);
    world.work('a', 60);
    await world.end();
    world.setClock(`${day}T15:00:00.000Z`);
    return world;
  }

  it('gets the work until then, and nothing that was saved a second or a day later', async () => {
    const { work, readAndReport, reported, held, live } = await openEnd();
    work('b', 30, { at: `${day}T14:00:01.000Z` });
    await readAndReport();
    expect([reported(), await held()]).toEqual([{ [day]: 60 }, [`${day} 30 after_end`]]);
    work('c', 40, { at: '2026-04-03T00:30:00.000Z' });
    await live('2026-04-03T15:00:00.000Z');
    expect(reported()).toEqual({ [day]: 60 });
    expect(await held()).toEqual([`${day} 30 after_end`, '2026-04-03 40 after_end']);
  });

  it('gets the whole day of its end if only the day of the work is known, and nothing of the next day', async () => {
    const world = await openEnd();
    await world.readAndReport();
    world.setClock('2026-04-03T15:00:00.000Z');
    world.tool.items.get('signs')?.clear();
    await world.read(true);
    await importDays(world, `2026-04-01,${world.contractId},300`, `2026-04-03,${world.contractId},40`);
    await world.report();
    expect([world.reported(), await world.held()]).toMatchObject([{ '2026-04-01': 300 }, ['2026-04-03 40 after_end']]);
  });

  it('leaves later work held when another contract begins, until an operator assigns it', async () => {
    const { work, readAndReport, reported, held, live, hireAgain, decide, setClock } = await openEnd();
    work('b', 30);
    await readAndReport();
    setClock(`${day}T16:00:00.000Z`);
    const second = await hireAgain();
    work('c', 20, { at: `${day}T16:00:00.000Z` });
    await live('2026-04-05T09:00:00.000Z');
    expect([reported(), reported(second), await held()]).toEqual([
      { [day]: 60 },
      { [day]: 20 },
      [`${day} 30 after_end`],
    ]);
    await decide(second);
    await readAndReport();
    expect([reported(), reported(second), await held({ state: 'held' })]).toEqual([{ [day]: 60 }, { [day]: 50 }, []]);
  });

  it('leaves the work of the next day held when another contract begins a day later', async () => {
    const { work, reported, held, live, hireAgain, ctx, contractId } = await openEnd();
    work('b', 30, { at: '2026-04-03T09:00:00.000Z' });
    await live('2026-04-04T09:00:00.000Z');
    const second = await hireAgain();
    await live('2026-04-06T09:00:00.000Z');
    expect([reported(), reported(second)]).toEqual([{ [day]: 60 }, {}]);
    expect(await held()).toHaveLength(1);
    const [{ contracts, reason } = { contracts: [], reason: null }] = await listHeld(ctx);
    expect(['before_start', 'after_end']).toContain(reason);
    expect(contracts.map((one) => one.contractId).sort()).toEqual([contractId, second].sort());
  });

  it('shares no day with the next contract if only the day of the work is known: all of it is held', async () => {
    const world = await openEnd();
    world.tool.items.get('signs')?.clear();
    const second = await world.hireAgain();
    await importDays(world, `${day},,signs,${world.trainerId},3600`);
    expect(await world.readAndReport()).toMatchObject({ sent: 0, held: 1 });
    expect([world.reported(), world.reported(second)]).toEqual([{}, {}]);
    expect(await world.held()).toEqual([`${day} 3600 several_contracts`]);
  });

  /** All reported for one contract, whose end and renewal are learned later. */
  async function openUnknownEnd() {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
    const { sandbox, contractId, setClock, work, readAndReport } = world;
    work('a', 60);
    setClock('2026-04-01T12:00:00.000Z');
    sandbox.endContract(contractId);
    setClock('2026-04-01T13:00:00.000Z');
    work('b', 30);
    setClock('2026-04-01T14:00:00.000Z');
    const second = world.renew();
    work('c', 5);
    await readAndReport();
    expect(world.reported()).toEqual({ '2026-04-01': 95 });
    await world.learn();
    await readAndReport();
    const whys = async () =>
      (await Array.fromAsync(checkUsage(world.ctx, { installs: ['acme'] }))).map(({ due, why }) => [due.seconds, why]);
    return { ...world, second, whys };
  }

  it('loses reported work to the next contract, paid once, even if that is learned after the day was closed', async () => {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z', { maxLoweredFraction: 0.2 });
    const { sandbox, contractId, setClock, work, live, learn, renew, readAndReport, reported } = world;
    work('a', 60);
    setClock('2026-04-01T12:00:00.000Z');
    sandbox.endContract(contractId);
    setClock('2026-04-01T14:00:00.000Z');
    const second = renew();
    work('b', 5);
    await live('2026-04-20T09:00:00.000Z');
    expect(reported()).toEqual({ '2026-04-01': 65 });
    await learn();
    expect(await readAndReport()).toMatchObject({ outcome: 'applied', sent: 2, lowered: 1, held: 0 });
    expect([reported(), reported(second)]).toEqual([{ '2026-04-01': 60 }, { '2026-04-01': 5 }]);
  });

  it('keeps what was reported before its end was known until the rest of the day is decided, and says so', async () => {
    const { reported, second, held, whys, decide, readAndReport } = await openUnknownEnd();
    expect([reported(), reported(second), await held()]).toEqual([
      { '2026-04-01': 95 },
      { '2026-04-01': 5 },
      ['2026-04-01 30 after_end'],
    ]);
    expect((await whys()).filter(([, why]) => why !== null)).toEqual([
      [60, 'held'],
      [null, 'held'],
    ]);
    await decide(null);
    expect(await readAndReport()).toMatchObject({ sent: 1, lowered: 1 });
    expect([reported(), reported(second)]).toEqual([{ '2026-04-01': 60 }, { '2026-04-01': 5 }]);
    expect((await whys()).filter(([, why]) => why !== null)).toEqual([[null, 'discarded']]);
  });

  it('loses overreported work to the next contract if an operator assigns it', async () => {
    const { reported, second, decide, readAndReport, whys } = await openUnknownEnd();
    await decide(second);
    expect(await readAndReport()).toMatchObject({ sent: 2, lowered: 1 });
    expect([reported(), reported(second)]).toEqual([{ '2026-04-01': 60 }, { '2026-04-01': 35 }]);
    expect((await whys()).every(([, why]) => why === null)).toBe(true);
  });
});

describeAnyDatabase('a contract that follows another on one day', (openFresh) => {
  const pieces = (count: number) => ({ seconds: 60 * count, tasks: count, labels: count });

  async function openNoon() {
    const world = await openOneWorker(await openFresh(), '2026-04-01T12:00:00.000Z');
    const { engine } = world;
    const pass = (ms: number) => engine.clock.advance(ms);
    /** Each piece takes a minute. */
    function workOn(...ids: string[]): void {
      for (const id of ids) {
        pass(60_000);
        world.work(id, 60);
      }
    }
    return { ...world, pass, workOn };
  }

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

  it('is lowered by its deleted work, and the other by its own', async () => {
    const { tool, sandbox, workOn, pass, renew, learn, read, report, consumed, contractId } = await openNoon();
    workOn('a', 'b');
    sandbox.endContract(contractId);
    pass(1000);
    const second = renew();
    await learn();
    workOn('c', 'd');
    await read();
    await report();
    tool.erase('a', 'd');
    await read();
    expect(await report()).toMatchObject({ sent: 0, held: 0 });
    await read(true);
    expect(await report()).toMatchObject({ sent: 2, lowered: 2, held: 0 });
    expect([consumed(contractId), consumed(second)]).toEqual([pieces(1), pieces(1)]);
  });

  /** Out after the first contract, in again for the second, with a piece of work for each. */
  async function openReturn() {
    const world = await openNoon();
    const { workOn, end, hireAgain, readAndReport, read, report, pass } = world;
    workOn('a');
    await readAndReport();
    await end();
    await read();
    pass(3_600_000);
    const second = await hireAgain();
    workOn('b');
    await read(true);
    await report();
    return { ...world, second };
  }

  it('does not change the other if it begins after a removal', async () => {
    const { consumed, contractId, second, workOn, read, report } = await openReturn();
    expect([consumed(contractId), consumed(second)]).toEqual([pieces(1), pieces(1)]);
    workOn('c');
    await read(true);
    expect(await report()).toMatchObject({ sent: 1, held: 0 });
    expect([consumed(contractId), consumed(second)]).toEqual([pieces(1), pieces(2)]);
  });

  it('does not make up for work of the other that was deleted since', async () => {
    const { tool, consumed, contractId, second, workOn, read, report, ctx, decide } = await openReturn();
    tool.erase('a');
    workOn('c');
    await read(true);
    expect(await report()).toMatchObject({ outcome: 'held', sent: 0, held: 1 });
    expect([consumed(contractId), consumed(second)]).toEqual([pieces(1), pieces(1)]);
    expect(await listHeld(ctx)).toMatchObject([{ reason: 'unknown_instants', counts: pieces(2) }]);
    await decide(second);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 2, lowered: 1, held: 0 });
    expect([consumed(contractId), consumed(second)]).toEqual([pieces(0), pieces(2)]);
  });
});

/** @param lines after a header of day, contract, project, person and seconds, or of the first two and seconds */
async function importDays({ ctx }: OneWorker, ...lines: string[]): Promise<void> {
  const isLong = (lines[0]?.split(',').length ?? 0) > 3;
  const header = 'workDate,contractId,externalProjectId,opentrainUserId,totalSeconds';
  const { id, preview } = await prepareLines(ctx, lines, isLong ? { header } : {});
  if (id === null) throw new Error(JSON.stringify(preview));
  await countImport(ctx, { actor: 'ada', at: '' }, id);
}
