import { expect, it } from 'vitest';
import { listBudgets } from '../../src/budget/budget-list-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createEngine } from '../support/engine-harness.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const now = new Date('2026-03-17T12:00:00.000Z');

describeAnyDatabase('the list of budgets', (openFresh) => {
  async function addBudget(
    { kysely }: Database,
    [install, contractId]: readonly [string, string],
    facts: { state?: 'ok' | 'low'; paymentType?: string; consumedSeconds?: number; consumedFraction?: number } = {},
  ): Promise<void> {
    await kysely
      .insertInto('budget')
      .values({ install, contractId, ...facts })
      .execute();
  }

  async function addWork({ kysely }: Database, contractId: string, day: string, seconds: number): Promise<void> {
    const key = { install: 'acme', contractId, trainerId: 'usr1', day, reportId: `${contractId} ${day}` };
    const state = { state: 'answered' as const, sentAt: '2026-03-12T00:00:00.000Z' };
    await kysely
      .insertInto('usageLedger')
      .values({ ...key, ...state, seconds, labels: 1 })
      .execute();
  }

  it('pages through installs and contracts, and can be filtered', async () => {
    const database = await openFresh();
    const keys = [
      ['acme', 'a/1'],
      ['acme', 'b'],
      ['other', 'a/1'],
    ] as const;
    for (const key of keys.toReversed()) await addBudget(database, key, key[1] === 'b' ? { state: 'low' } : {});
    const list = async (filter: Partial<Parameters<typeof listBudgets>[2]>) =>
      (await listBudgets(createEngine(database), now, { limit: 2, ...filter })).map((one) => [
        one.install,
        one.contractId,
      ]);
    const first = await list({});
    expect(first).toEqual(keys.slice(0, 2));
    expect(await list({ after: { install: 'acme', contractId: 'b' } })).toEqual([keys[2]]);
    expect(await list({ state: 'low' })).toEqual([keys[1]]);
    expect(await list({ install: 'other' })).toEqual([keys[2]]);
    expect(await list({ contractId: 'a/1' })).toEqual([keys[0], keys[2]]);
    expect(await list({ state: 'depleted' })).toEqual([]);
  });

  it('has the work of the last week in the unit of pay, when the budget is used up, and the days that wait', async () => {
    const database = await openFresh();
    const facts = { consumedSeconds: 900, consumedFraction: 0.5 };
    await addBudget(database, ['acme', 'hours'], { ...facts, paymentType: 'PAY_PER_HOUR' });
    await addBudget(database, ['acme', 'labels'], { ...facts, paymentType: 'PAY_PER_LABEL' });
    await addBudget(database, ['acme', 'once'], { ...facts, paymentType: 'FIXED_PRICE' });
    for (const contractId of ['hours', 'labels', 'once']) {
      await addWork(database, contractId, '2026-03-09', 7000);
      await addWork(database, contractId, '2026-03-10', 60);
      await addWork(database, contractId, '2026-03-11', 40);
    }
    const due = { install: 'acme', contractId: 'labels', trainerId: 'usr1', timeZone: 'UTC', seconds: 40, labels: 1 };
    const dues = ['2026-03-11', '2026-03-12'].map((day) => ({ ...due, day, isPartial: false, isOpen: true }));
    await database.kysely.insertInto('usageDue').values(dues).execute();
    const listed = await listBudgets(createEngine(database), now, { limit: 10 });
    const short = listed.map((one) => [one.contractId, one.unit, one.lately, one.endsAt, one.waiting]);
    // 900 seconds are left, and 100 are used a week.
    expect(short).toEqual([
      ['hours', 'seconds', 100, '2026-05-19T12:00:00.000Z', 0],
      ['labels', 'labels', 2, null, 1],
      ['once', null, 0, null, 0],
    ]);
  });
});
