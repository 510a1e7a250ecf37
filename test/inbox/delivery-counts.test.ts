import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { countAll, countDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { newDelivery } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 2, 15, 12, minute)).toISOString();
const states = ['handled', 'pending', 'ignored', 'failed', 'unprocessable'] as const;
const rows = states.map((state) => ({
  state,
  failure: ['failed', 'unprocessable'].includes(state) ? 'why' : null,
  nextAttemptAt: state === 'pending' ? at(0) : null,
}));

describeAnyDatabase('the counts of deliveries', (openFresh) => {
  it('are by install and state, of those since an instant', async () => {
    const database = await openFresh();
    const { kysely } = database;
    const bodies = Array.from({ length: 40 }, (_, index) => index);
    await appendDeliveries(
      storageOf(database),
      bodies.map((n) => newDelivery(`${n}`, { install: n % 2 === 0 ? 'acme' : 'globex' })),
    );
    const stored = await kysely.selectFrom('delivery').select('id').orderBy('id').execute();
    for (const [index, { id }] of stored.entries()) {
      const row = { ...rows[index % rows.length], receivedAt: at(index), install: index < 20 ? 'acme' : 'globex' };
      await kysely.updateTable('delivery').set(row).where('id', '=', id).execute();
    }
    const shown = async (since: string) =>
      (await countDeliveries(kysely, since)).map(({ install, state, count }) => `${install} ${state} ${count}`);
    const sorted = [...states].sort();
    expect(await shown(at(0))).toEqual(
      ['acme', 'globex'].flatMap((install) => sorted.map((one) => `${install} ${one} 4`)),
    );
    expect(await shown(at(12))).toEqual([
      'acme failed 2',
      'acme handled 1',
      'acme ignored 2',
      'acme pending 1',
      'acme unprocessable 2',
      ...sorted.map((one) => `globex ${one} 4`),
    ]);
    expect(await shown(at(38))).toEqual(['globex failed 1', 'globex unprocessable 1']);
    expect(await shown(at(60))).toEqual([]);
  });

  it('read no delivery: the index of installs has all that is counted', async () => {
    const { dialect, kysely } = await openFresh();
    const plan = await kysely.transaction().execute(async (tx) => {
      if (dialect === 'sqlite') return await sql`explain query plan ${countAll(1)}`.execute(tx);
      // Tables that are empty are read whole, unless that is forbidden as far as there is an index.
      await sql`set local enable_seqscan = off`.execute(tx);
      await sql`set local enable_bitmapscan = off`.execute(tx);
      return await sql`explain ${countAll(1)}`.execute(tx);
    });
    const lines = plan.rows.map((row) => JSON.stringify(row)).filter((line) => /delivery/.test(line));
    expect(lines).not.toEqual([]);
    expect(
      lines.filter((line) => !/COVERING INDEX delivery_by_install|Index Only Scan.*delivery_by_install/.test(line)),
    ).toEqual([]);
  });
});
