import { expect, it } from 'vitest';
import { type ListedBudget, listBudgets } from '../../src/budget/budget-list-store.ts';
import type { Database } from '../../src/db/database.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const since = '2026-03-10';

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

  it('goes page by page through installs and contracts, and is filtered', async () => {
    const database = await openFresh();
    const keys = [
      ['acme', 'a/1'],
      ['acme', 'b'],
      ['other', 'a/1'],
    ] as const;
    for (const key of keys.toReversed()) await addBudget(database, key, key[1] === 'b' ? { state: 'low' } : {});
    const list = async (filter: Partial<Parameters<typeof listBudgets>[1]>) =>
      (await listBudgets(database, { limit: 2, since, ...filter })).map((one) => [one.install, one.contractId]);
    const first = await list({});
    expect(first).toEqual(keys.slice(0, 2));
    expect(await list({ after: { install: 'acme', contractId: 'b' } })).toEqual([keys[2]]);
    expect(await list({ state: 'low' })).toEqual([keys[1]]);
    expect(await list({ install: 'other' })).toEqual([keys[2]]);
    expect(await list({ contractId: 'a/1' })).toEqual([keys[0], keys[2]]);
    expect(await list({ state: 'depleted' })).toEqual([]);
  });

  it('has the work of the last days in the unit that is paid by, and what waits', async () => {
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
    const listed = await listBudgets(database, { limit: 10, since });
    const short = ({ contractId, unit, pace, waiting }: ListedBudget) => [contractId, unit, pace, waiting];
    expect(listed.map(short)).toEqual([
      ['hours', 'seconds', { consumedFraction: 0.5, consumed: 900, lately: 100 }, 0],
      ['labels', 'labels', { consumedFraction: 0.5, consumed: null, lately: 2 }, 1],
      ['once', undefined, { consumedFraction: 0.5, consumed: null, lately: 0 }, 0],
    ]);
  });
});
