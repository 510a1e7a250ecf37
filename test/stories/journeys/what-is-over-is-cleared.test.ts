import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { deleteOld } from '../../../src/inbox/storage-store.ts';
import { openIdleMarketplace } from '../../support/bridge-process.ts';
import { createBridgeWorkspace, type Workspace } from '../../support/bridge-workspace.ts';
import { newDelivery } from '../../support/deliveries.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { until } from '../../support/until.ts';

const createdAt = new Date().toISOString();

describe('a bridge that runs', () => {
  it('clears people whose last contract ended long ago, and no others', async () => {
    const workspace = createBridgeWorkspace({ marketplace: { baseUrl: await openIdleMarketplace() } });
    await workspace.receive(
      fullEvent({ type: 'contract.started', createdAt }),
      fullEvent({ type: 'contract.ended', id: '7000000002' }),
    );
    await workspace.receive(
      fullEvent({ type: 'contract.started', contract: 'c2', trainer: 'cmu2', link: 'l2', createdAt }),
    );
    await workspace.withStorage(async ({ database }) => {
      // As if all of it had been a year ago; the second one still runs.
      const longAgo = { startedEventAt: '2025-01-01T00:00:00.000Z' };
      await database.kysely.updateTable('contract').set(longAgo).execute();
      await database.kysely
        .updateTable('contract')
        .set({ endedEventAt: '2025-02-01T00:00:00.000Z' })
        .where('endedEventAt', 'is not', null)
        .execute();
      // The retention was looked at when the first of them was received.
      await database.kysely.updateTable('job').set({ dueAt: createdAt }).where('kind', '=', 'retention').execute();
    });
    await whileRunning(workspace, async (database) => {
      const list = () =>
        database.kysely.selectFrom('person').select(['trainerId', 'displayName']).orderBy('trainerId').execute();
      const people = await until('one is cleared', list, (rows) => rows[0]?.displayName === null);
      expect(people).toEqual([
        { trainerId: 'cmu1', displayName: null },
        { trainerId: 'cmu2', displayName: 'Amara O.' },
      ]);
    });
  });

  it('gives space that it does not need back to the disk', async () => {
    const workspace = createBridgeWorkspace();
    await workspace.withStorage(async (ctx) => {
      const bodies = Array.from({ length: 120 }, (_, at) => String(at).padEnd(100_000, 'x'));
      await appendDeliveries(
        ctx,
        bodies.map((body) => newDelivery(body)),
      );
      while ((await deleteOld(ctx.database, '2099-01-01', 1000)) > 0);
    });
    await whileRunning(workspace, async (database) => {
      const countPages = async () => {
        const { rows } = await sql<{ freelistCount: number }>`pragma freelist_count`.execute(database.kysely);
        return rows[0]?.freelistCount ?? 0;
      };
      await until('what is free is few', countPages, (free) => free <= 2048);
    });
  });
});

/** @param work gets a look of its own into the database */
async function whileRunning(workspace: Workspace, work: (database: Database) => Promise<void>) {
  await workspace.withStorage(({ database }) => workspace.whileRunning(async () => await work(database)));
}
