import { expect, it } from 'vitest';
import type { Context } from '../../../src/context.ts';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import { chooseSilent } from '../../../src/reconcile/runs/schedule-jobs.ts';
import { createTestContext } from '../../support/engine-harness.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const minuteMs = 60_000;
const sources = new Map([
  ['own', { hasSilentEnds: true }],
  ['acme', { hasSilentEnds: false }],
]) as unknown as Context['sources'];

describeAnyDatabase('installs whose ends may be silent', (openFresh) => {
  async function open() {
    const database = await openFresh();
    const clock = createFakeClock();
    const ctx = createTestContext(database, { sources, clock });
    const choose = () => chooseSilent(ctx);
    const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    return { database, clock, choose, ago };
  }

  async function keep(database: Database, readBeganAt: string, readAt: string): Promise<void> {
    await inTransaction(database, async (tx) => {
      await tx.deleteFrom('installState').execute();
      await tx.deleteFrom('feed').execute();
      await tx.insertInto('installState').values({ install: 'own', readBeganAt }).execute();
      await tx.insertInto('feed').values({ install: 'own', grantId: 'org', readAt }).execute();
    });
  }

  it('are read if they never were', async () => {
    const { choose } = await open();
    expect(await choose()).toEqual(['own']);
  });

  it.each([
    [3, 0.5, []],
    [3.01, 0.5, ['own']],
    [1, 2, []],
    [1, 2.01, ['own']],
  ])('were read %f minutes ago, and their feed %f minutes: %j', async (read, heard, chosen) => {
    const { database, choose, ago } = await open();
    await keep(database, ago(read * minuteMs), ago(heard * minuteMs));
    expect(await choose()).toEqual(chosen);
  });

  it('are chosen every four minutes if checked each minute, at any second', async () => {
    const { database, clock, choose, ago } = await open();
    for (const lagMs of [0, 1, 5000, 59_999]) {
      await keep(database, ago(-lagMs), ago(0));
      let waitedMs = 0;
      do {
        clock.advance(minuteMs);
        waitedMs += minuteMs;
        await database.kysely
          .updateTable('feed')
          .set({ readAt: ago(0) })
          .execute();
      } while ((await choose()).length === 0);
      expect([lagMs, waitedMs]).toEqual([lagMs, 4 * minuteMs]);
      clock.advance(-waitedMs);
    }
  });
});
