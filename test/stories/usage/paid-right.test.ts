import { expect, it } from 'vitest';
import { showUsage } from '../../../src/usage/due/show-usage.ts';
import { listUsageTroubles } from '../../../src/usage/due/unpaid-store.ts';
import { openOneWorker } from '../../support/one-worker.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

describeAnyDatabase('a piece of work of the 1st', (openFresh) => {
  /** 3,000 seconds, which were reported on the 1st, and every day since then until the 21st was read and reported. */
  async function openMonth() {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
    world.work('a', 3000);
    await world.readAndReport();
    expect(world.reported()).toEqual({ '2026-04-01': 3000 });
    const why = async () => {
      const { days } = await showUsage(world.ctx, { install: 'acme', contractId: world.contractId });
      return days.map((one) => `${one.day} ${one.why}`);
    };
    return { ...world, why };
  }

  it('edited on the 21st stays reported for the 1st, and the 10 seconds are listed until an operator decides', async () => {
    const { ctx, live, edit, reported, late, readAndReport, why } = await openMonth();
    await live('2026-04-21T09:00:00.000Z');
    edit('a', 3010);
    expect(await readAndReport()).toMatchObject({ sent: 0 });
    expect(reported()).toEqual({ '2026-04-01': 3000 });
    expect(await late()).toEqual(['2026-04-01 3000 → 3010']);
    const trouble = { kind: 'late', install: 'acme', days: 1, seconds: 10, oldest: '2026-04-01' };
    expect(await listUsageTroubles(ctx)).toEqual([trouble]);
    await live('2026-06-01T09:00:00.000Z');
    expect([reported(), await late()]).toEqual([{ '2026-04-01': 3000 }, ['2026-04-01 3000 → 3010']]);
    expect(await why()).toEqual(['2026-04-01 late']);
  });

  it('edited on the 21st is sent for the 1st if an operator says so', async () => {
    const { live, edit, reported, late, readAndReport, decideLate, why } = await openMonth();
    await live('2026-04-21T09:00:00.000Z');
    edit('a', 3010);
    await readAndReport();
    await decideLate(true);
    expect(await late()).toEqual([]);
    expect(await readAndReport()).toMatchObject({ sent: 1 });
    expect([reported(), await why()]).toEqual([{ '2026-04-01': 3010 }, ['2026-04-01 null']]);
    expect(await readAndReport()).toMatchObject({ outcome: 'clean', requests: 0 });
  });

  it('edited on the 21st is not sent if an operator dismisses it, and is listed after another edit', async () => {
    const { live, edit, reported, late, readAndReport, decideLate, why } = await openMonth();
    await live('2026-04-21T09:00:00.000Z');
    edit('a', 3010);
    await readAndReport();
    await decideLate(false);
    expect([await late(), await why()]).toEqual([[], ['2026-04-01 dismissed']]);
    await live('2026-04-25T09:00:00.000Z');
    expect([reported(), await late(), await why()]).toEqual([{ '2026-04-01': 3000 }, [], ['2026-04-01 dismissed']]);
    edit('a', 3020);
    await readAndReport();
    expect([await late(), await why()]).toEqual([['2026-04-01 3000 → 3020'], ['2026-04-01 late']]);
  });

  it('edited within the look-back counts on the day of the change', async () => {
    const { live, edit, reported, readAndReport, late } = await openMonth();
    await live('2026-04-10T09:00:00.000Z');
    edit('a', 3010);
    await readAndReport();
    expect([reported(), await late()]).toEqual([{ '2026-04-01': 3000, '2026-04-10': 10 }, []]);
  });

  it('edited to less on the 21st is listed, and lowered if an operator sends it', async () => {
    const { live, edit, reported, late, readAndReport, decideLate, read, report } = await openMonth();
    await live('2026-04-21T09:00:00.000Z');
    edit('a', 2000);
    await read(true);
    await report();
    expect([reported(), await late()]).toEqual([{ '2026-04-01': 3000 }, ['2026-04-01 3000 → 2000']]);
    await decideLate(true);
    expect(await readAndReport()).toMatchObject({ sent: 1, lowered: 1 });
    expect(reported()).toEqual({ '2026-04-01': 2000 });
  });

  it('deleted on the 21st in a task that the tool lists completely is listed, and lowered if an operator sends it', async () => {
    const { live, tool, reported, late, readAndReport, decideLate, read, report } = await openMonth();
    tool.listsWholeTasks = true;
    await live('2026-04-21T09:00:00.000Z');
    await read(true);
    await report();
    expect([reported(), await late()]).toEqual([{ '2026-04-01': 3000 }, []]);
    tool.items.get('signs')?.delete('a');
    await read(true);
    await report();
    expect([reported(), await late()]).toEqual([{ '2026-04-01': 3000 }, ['2026-04-01 3000 → 0']]);
    await decideLate(true);
    expect(await readAndReport()).toMatchObject({ sent: 1, lowered: 1 });
    expect(reported()).toEqual({ '2026-04-01': 0 });
  });
});
